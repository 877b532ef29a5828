/** One request over a connection: its responses, time-out and cancellation. */
import type { TroupeError } from '../protocols/errors.ts';
import type {
  GatewayMethodName,
  GatewayParams,
  GatewayResult,
  ResponseFrame,
} from '../protocols/gateway/index.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import { cancelled, errorOf, timedOut } from './gateway-errors.ts';

export type RequestOptions<M extends GatewayMethodName> = {
  /** until the final response; default 30,000, with `expectFinal` none; 0 = none */
  readonly timeoutMs?: number;
  /** `agent` responds twice: wait for the second response */
  readonly expectFinal?: boolean;
  /** called with the first of two responses */
  readonly onAccepted?: (payload: GatewayResult<M>) => void;
  /** stops waiting; the gateway continues with the request */
  readonly signal?: AbortSignal;
};

/** @throws TroupeError as GatewayClient.request does */
export function requestOver<M extends GatewayMethodName>(
  connection: GatewayConnection,
  method: M,
  params: GatewayParams<M>,
  { timeoutMs = 0, expectFinal = false, signal, onAccepted }: RequestOptions<M>,
): Promise<GatewayResult<M>> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      forget();
    };
    const fail = (error: TroupeError) => {
      end();
      reject(error);
    };
    const settle = (frame: ResponseFrame): boolean => {
      if (!frame.ok) fail(errorOf(frame));
      else if (expectFinal && isAccepted(frame.payload)) {
        onAccepted?.(frame.payload as GatewayResult<M>);
        return false;
      } else {
        end();
        resolve(frame.payload as GatewayResult<M>);
      }
      return true;
    };
    const abort = () => fail(cancelled(signal));
    signal?.addEventListener('abort', abort);
    const timer =
      timeoutMs > 0 ? setTimeout(() => fail(timedOut(method, timeoutMs)), timeoutMs) : undefined;
    const forget = connection.request(method, params, { settle, fail });
  });
}

const isAccepted = (payload: unknown): boolean =>
  (payload as { status?: unknown } | undefined)?.status === 'accepted';
