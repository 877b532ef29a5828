/**
 * Run trace: the activity that followed from one run, across sessions, agents and workers, as steps
 * in order of time: messages, model calls, tools, replies, ends. `troupe trace` prints it.
 *
 * Times are shard times in epoch milliseconds. They are exact within a session; between two workers
 * they are as accurate as the machines' clocks.
 */
import type { MessageOrigin, RunStatus } from './session.ts';
import type { SubagentOutcome } from './subagent.ts';

/** Maximum number of steps of a trace, and maximum distance from its run in messages and spawns. */
export const TRACE_STEPS_MAX = 500;
export const TRACE_DEPTH_MAX = 8;
/** Maximum length of a step's text; longer texts are truncated. */
export const TRACE_WORDS_CHARACTERS = 160;

export type TraceParticipant = {
  /** `S1`, `S2`, …: sessions; `P1`, …: users */
  readonly id: string;
  readonly kind: 'people' | 'session';
  /** short, for a column header: `work:main`, `subagent 1a2b3c4d of main` */
  readonly name: string;
  /** of users: their session */
  readonly sessionKey: string;
  readonly label?: string;
  /** workers that made its model calls, in order; empty with a single process */
  readonly nodes: readonly string[];
};

/** `from`, `to`, `in`: ids of participants. `text` is the beginning of the text, on one line. */
export type TraceStep = {
  readonly at: number;
  readonly runId: string;
} /* a message starts a run of `to`, or joins one (`joins`) */ & (
  | {
      readonly kind: 'message';
      readonly from: string;
      readonly to: string;
      readonly text: string;
      readonly origin: 'person' | MessageOrigin['kind'];
      readonly joins?: true;
      readonly label?: string;
    }
  /** a model call; its text is in the reply or in the tool steps */
  | {
      readonly kind: 'model';
      readonly in: string;
      readonly model: string;
      readonly tokens?: number;
      /** absent if the price of the model is not known */
      readonly costUsd?: number;
      readonly node?: string;
      /** names of the tools that it calls */
      readonly calls: readonly string[];
    }
  | {
      readonly kind: 'tool';
      readonly in: string;
      readonly name: string;
      readonly text: string;
      readonly failed: boolean;
      /** its message or subagent is a separate step */
      readonly drawn?: true;
    }
  /** a run ended and sends `text` to the participant that started it; absent `to`: to none */
  | {
      readonly kind: 'end';
      readonly in: string;
      readonly to?: string;
      readonly text: string;
      readonly status: RunStatus;
      /** the text is sent to the users of the session */
      readonly announces?: true;
      /** the reply was a skip text or empty */
      readonly silent?: true;
    }
  /** the parent knows the result of a subagent */
  | {
      readonly kind: 'result';
      readonly from: string;
      readonly to: string;
      readonly text: string;
      readonly outcome: Exclude<SubagentOutcome, 'refused'>;
      readonly tokens?: number;
      readonly durationMs?: number;
    }
  /** a run of the parent reads results of subagents */
  | {
      readonly kind: 'report';
      readonly in: string;
      readonly results: number;
      readonly joins?: true;
    }
  /** a message or a spawn that was refused */
  | { readonly kind: 'refused'; readonly in: string; readonly text: string; readonly why: string }
);

/** An effect of a session, as its turns recorded it. */
export type TraceEffect = {
  readonly in: string;
  /** as the machine names it: `callModel`, `callTools` */
  readonly effect: string;
  readonly startedAt: number;
  /** absent while it runs */
  readonly endedAt?: number;
  readonly failed: boolean;
  /** from 1; rises with each failure before it */
  readonly attempt: number;
};

/** A question that the run asked, and who decided it. */
export type TraceApproval = {
  readonly in: string;
  readonly id: string;
  readonly at: number;
  readonly title: string;
  readonly state: string;
  readonly decision?: string;
  readonly decidedBy?: string;
  readonly decidedAt?: number;
};

export type RunTrace = {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly participants: readonly TraceParticipant[];
  /** oldest first, at most TRACE_STEPS_MAX */
  readonly steps: readonly TraceStep[];
  /** as far as the history of its sessions is kept, in the order of their starts */
  readonly effects: readonly TraceEffect[];
  /** oldest first */
  readonly approvals: readonly TraceApproval[];
  /** what the trace omits */
  readonly left: {
    /** steps beyond the maximum */
    readonly steps: number;
    /** messages and subagents beyond the requested depth */
    readonly deeper: number;
    /** sessions with more entries since the run started than were read */
    readonly sessions: readonly string[];
  };
};
