/** The context of an erasure, and its events. */
import type {
  ErasureCounts,
  ErasureReach,
  ErasureRequest,
  ErasureTarget,
} from '../../protocols/erasure.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type ErasureContext = {
  readonly target: ErasureTarget;
  readonly who: string;
  readonly requestedAt: number;
  /** found by the survey; [] when it has ended */
  readonly sessions: readonly string[];
  readonly shared: number;
  readonly counts: ErasureCounts;
  /** absent in what older programs stored */
  readonly reach?: ErasureReach | null;
  readonly endedAt: number | null;
  readonly error: ErrorData | null;
  /** of the request that is not answered yet */
  readonly reply: ReplyRef | null;
};

export type ErasureEvent =
  | Delivered<ErasureRequest>
  | Delivered<{ type: 'reply' }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;
export type Args = ActionArgs<ErasureContext, ErasureEvent>;
export const { on } = handlersOf<ErasureContext, ErasureEvent>();
