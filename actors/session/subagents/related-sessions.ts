/**
 * What a session stores about other sessions: its subagents, its budget for subagents, ends that
 * its agent has not read, and what the calls of its run wait for. Types only.
 */
import type { Lineage } from '../../../protocols/lineage.ts';
import type { Usage } from '../../../protocols/session.ts';
import type { ReplyRef } from '../../../protocols/statechart.ts';
import type { OrphanPolicy, SubagentEnded } from '../../../protocols/subagent.ts';

/** A call of the run that is answered later. */
export type PendingCall = { readonly reply: ReplyRef | null; readonly callId: string };

/** A subagent that has not ended. */
export type Child = {
  readonly id: string;
  readonly sessionKey: string;
  /** the parent's run that started it */
  readonly runId: string;
  /** true: it has received a slot; false: it waits for one */
  readonly going: boolean;
  /** false: its end is not reported */
  readonly reportBack: boolean;
  /** subtracted from the ledger while it is active */
  readonly tokens: number;
  readonly costUsd?: number;
  readonly spawns: number;
  /** lineage of the run that will read its report */
  readonly lineage: Lineage;
  /** a call of the run waits for its end */
  readonly wait?: PendingCall;
  /** shard time after which its slot is free even if no end has arrived */
  readonly until?: number;
  readonly timeoutMs: number;
  /** its slot was freed without an end; its grant did not return */
  readonly lost?: true;
  /** its tree was ended by a reset or a deletion, so this ledger does not contain its grant */
  readonly apart?: true;
};

/** What a session may still grant, and what was used. */
export type BudgetLedger = {
  /** tokens that may still be granted; a subagent's session also uses some of them itself */
  readonly tokens: number;
  /** absent: unlimited */
  readonly costUsd?: number;
  readonly spawns: number;
  /** number of subagents started since the session was created or reset */
  readonly started: number;
  readonly concurrentMax: number;
  readonly onReset: OrphanPolicy;
  /** usage of the ended subagents and of all subagents below them */
  readonly below: { readonly usage: Usage; readonly spawned: number };
  /** a user started a new tree: the next spawn fills the ledger again */
  readonly renewed?: true;
};

/** The end of a subagent that the agent has not read yet. */
export type Report = Omit<SubagentEnded, 'type' | 'again'> & {
  readonly at: number;
  readonly lineage: Lineage;
};

/** A subagent of a call without a result. If the call is repeated, it starts no second one. */
export type Spawned = {
  readonly id: string;
  readonly callId: string;
  readonly tokens: number;
  readonly lineage: Lineage;
  /** its end was sent as the answer to the call */
  readonly told?: true;
};

/** A subagent that was asked to send its end again. */
export type Awaited = {
  readonly id: string;
  readonly lineage: Lineage;
  /** the call that is answered with it; absent: it becomes a report */
  readonly wait?: PendingCall;
};

/** A conversation that a call of the run waits for. */
export type Wait = PendingCall & {
  readonly id: string;
  /** session key */
  readonly target: string;
  /** whether the call waits for an answer, and not only for acceptance by the target */
  readonly blocks: boolean;
};

/** A conversation that the run has started. `delivered` is absent until its delivery is known. */
export type Begun = {
  readonly id: string;
  readonly delivered?: boolean;
  readonly refused?: true;
};
