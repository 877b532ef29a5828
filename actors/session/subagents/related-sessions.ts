/**
 * Bonds: what a session keeps of other sessions: its subagents, what it may still grant, ends that
 * its agent has not read, and what calls of its run wait for. Types only.
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
  /** of the parent: the one that started it */
  readonly runId: string;
  /** it has a place; else it waits for one */
  readonly going: boolean;
  /** false: its end is not reported */
  readonly reportBack: boolean;
  /** subtracted from the ledger while it is active */
  readonly tokens: number;
  readonly costUsd?: number;
  readonly spawns: number;
  /** of the run that will read its report */
  readonly lineage: Lineage;
  /** a call of the run waits for its end */
  readonly wait?: PendingCall;
  /** shard time after which its place comes free, whatever has become of it */
  readonly until?: number;
  readonly timeoutMs: number;
  /** this freed its slot; its grant did not return */
  readonly lost?: true;
  /** it is of a tree that a reset or a deletion has ended: its grant is in no books here */
  readonly apart?: true;
};

/** What a session may still grant, and what was used. */
export type BudgetLedger = {
  /** of all grants together; of a subagent's session less what it uses itself */
  readonly tokens: number;
  /** absent: unlimited */
  readonly costUsd?: number;
  readonly spawns: number;
  /** started since the session began or was reset */
  readonly started: number;
  readonly concurrentMax: number;
  readonly onReset: OrphanPolicy;
  /** usage of the ended ones, with all subagents below them */
  readonly below: { readonly usage: Usage; readonly spawned: number };
  /** a user started a new tree: the next spawn fills the ledger again */
  readonly renewed?: true;
};

/** The end of a subagent that the agent has not read yet. */
export type Report = Omit<SubagentEnded, 'type' | 'again'> & {
  readonly at: number;
  readonly lineage: Lineage;
};

/** A spawn of a call that has no result yet: made again, it starts nothing. */
export type Spawned = {
  readonly id: string;
  readonly callId: string;
  readonly tokens: number;
  readonly lineage: Lineage;
  /** its end was the answer to the call */
  readonly told?: true;
};

/** An end that a subagent was asked to send again. */
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

/** A conversation that the run has begun; absent: its delivery is not known yet. */
export type Begun = {
  readonly id: string;
  readonly delivered?: boolean;
  readonly refused?: true;
};
