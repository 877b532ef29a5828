/** What a remote call keeps between turns. */
import type { ErrorData } from '../../protocols/errors.ts';
import type {
  RemoteCall,
  RemoteCallCancel,
  RemoteCallStart,
  RemoteResult,
  RemoteStep,
  RemoteTask,
} from '../../protocols/remote-call.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** How a call has ended; `unknown` is the result of a lost call of class `once`. */
export type Ending = {
  readonly state: 'done' | 'failed' | 'cancelled' | 'unknown';
  readonly result?: RemoteResult;
  readonly error?: ErrorData;
};

/** The result of a start: `lost` when it is not known whether the call was made. */
export type Started = RemoteStep | { readonly kind: 'lost'; readonly why: string };

export type CallContext = {
  readonly tenant: string;
  readonly id: string;
  readonly startedAt: number;
  readonly call: RemoteCall | null;
  readonly task: RemoteTask | null;
  /** a call of class `once` that may have been made, without an answer so far */
  readonly mayBeMade: boolean;
  readonly ending: Ending | null;
  readonly endedAt: number | null;
  /** tools that wait for the end */
  readonly waiters: readonly ReplyRef[];
  /** requests in succession that failed, and why the latest did */
  readonly failures: number;
  readonly problem: ErrorData | null;
  /** before the next request */
  readonly pauseMs: number;
};

export type CallEvent = Delivered<RemoteCallStart> | Delivered<RemoteCallCancel>;
export type Args = ActionArgs<CallContext, CallEvent>;
export const { on } = handlersOf<CallContext, CallEvent>();
