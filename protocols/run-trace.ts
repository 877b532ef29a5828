/**
 * Run trace: what one run led to, across sessions, agents and workers, as steps in the order of
 * their times: messages, model calls, tools, replies, ends. `troupe trace` draws it.
 *
 * Times are those of the shards that the sessions live on, epoch milliseconds: within a session
 * they are exact, between two workers as exact as the clocks of their machines.
 */
import type { MessageOrigin, RunStatus } from './session.ts';
import type { SubagentOutcome } from './subagent.ts';

/** Steps of one trace, and how many messages and spawns away from its run they may be. */
export const TRACE_STEPS_MAX = 500;
export const TRACE_DEPTH_MAX = 8;
/** Of a text in a step: its first words. */
export const TRACE_WORDS_CHARACTERS = 160;

export type TraceParticipant = {
  /** `S1`, `S2`, …: sessions; `P1`, …: people */
  readonly id: string;
  readonly kind: 'people' | 'session';
  /** short, for a head of a column: `work:main`, `subagent 1a2b3c4d of main` */
  readonly name: string;
  /** of people: the session that they talk in */
  readonly sessionKey: string;
  readonly label?: string;
  /** workers that made its model calls, in order; empty where there is one process only */
  readonly nodes: readonly string[];
};

/** `from`, `to`, `in`: ids of participants. `text` is first words, in one line. */
export type TraceStep = {
  readonly at: number;
  readonly runId: string;
} /** a message begins a run of `to`, or joins it (`joins`) */ & (
  | {
      readonly kind: 'message';
      readonly from: string;
      readonly to: string;
      readonly text: string;
      readonly origin: 'person' | MessageOrigin['kind'];
      readonly joins?: true;
      readonly label?: string;
    }
  /** a model call; what it said is a reply or goes with its tools */
  | {
      readonly kind: 'model';
      readonly in: string;
      readonly model: string;
      readonly tokens?: number;
      readonly node?: string;
      /** names of the tools that it asks for */
      readonly calls: readonly string[];
    }
  | {
      readonly kind: 'tool';
      readonly in: string;
      readonly name: string;
      readonly text: string;
      readonly failed: boolean;
      /** its message or subagent is a step of its own */
      readonly drawn?: true;
    }
  /** a run has its end and says `text` to whoever began it; absent `to`: to nobody */
  | {
      readonly kind: 'end';
      readonly in: string;
      readonly to?: string;
      readonly text: string;
      readonly status: RunStatus;
      /** the people of the session are told what it says */
      readonly announces?: true;
      /** it said that it wants no more, or nothing */
      readonly silent?: true;
    }
  /** a subagent's end is known to its parent */
  | {
      readonly kind: 'result';
      readonly from: string;
      readonly to: string;
      readonly text: string;
      readonly outcome: Exclude<SubagentOutcome, 'refused'>;
      readonly tokens?: number;
      readonly durationMs?: number;
    }
  /** results of subagents are read in a run of their parent */
  | {
      readonly kind: 'report';
      readonly in: string;
      readonly results: number;
      readonly joins?: true;
    }
  /** a message or a spawn that did not come to be */
  | { readonly kind: 'refused'; readonly in: string; readonly text: string; readonly why: string }
);

export type RunTrace = {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly participants: readonly TraceParticipant[];
  /** oldest first, at most TRACE_STEPS_MAX */
  readonly steps: readonly TraceStep[];
  /** what the trace does not show */
  readonly left: {
    /** steps beyond the most */
    readonly steps: number;
    /** messages and subagents that are further away than the depth that was asked for */
    readonly deeper: number;
    /** sessions with more entries since the run began than were read */
    readonly sessions: readonly string[];
  };
};
