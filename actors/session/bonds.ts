/**
 * Bonds: what a session keeps of other sessions: its subagents, what it may still grant, ends that
 * its agent has not read, and what calls of its run wait for. Types only.
 */
import type { Lineage } from '../../protocols/lineage.ts';
import type { Usage } from '../../protocols/session.ts';
import type { ReplyRef } from '../../protocols/statechart.ts';
import type { OrphanPolicy, SubagentEnded } from '../../protocols/subagent.ts';

/** A subagent that has not ended, or a place that it holds. */
export type Child = {
  readonly id: string;
  readonly sessionKey: string;
  /** of the parent: the one that started it */
  readonly runId: string;
  /** it has a place; else it waits for one */
  readonly going: boolean;
  readonly reportBack: boolean;
  /** taken from the books while it goes on */
  readonly tokens: number;
  readonly costUsd?: number;
  readonly spawns: number;
  /** a call of the run waits for its end */
  readonly wait?: { readonly reply: ReplyRef | null; readonly callId: string };
  /** shard time after which its place comes free, whatever has become of it */
  readonly until?: number;
  readonly timeoutMs: number;
};

/** What a session may still grant, and what came of it (AA6). */
export type Books = {
  readonly tokens: number;
  /** absent: unlimited */
  readonly costUsd?: number;
  readonly spawns: number;
  /** started since the session began or was reset */
  readonly started: number;
  readonly concurrentMax: number;
  readonly onReset: OrphanPolicy;
  /** of those that have ended, with all below them */
  readonly below: { readonly usage: Usage; readonly spawned: number };
};

/** The end of a subagent that the agent has not read yet (AA8). */
export type Report = Omit<SubagentEnded, 'type' | 'again'> & {
  readonly at: number;
  readonly lineage: Lineage;
};

/** A conversation that a call of the run waits for. */
export type Wait = {
  readonly id: string;
  /** session key */
  readonly target: string;
  readonly callId: string;
  readonly reply: ReplyRef | null;
  /** whether an answer is waited for, and not only that the target takes it */
  readonly blocks: boolean;
};
