/** An operator of a real installation, who calls operations over the WebSocket. */
import { onTestFinished } from 'vitest';
import { defined } from '../../protocols/defined.ts';
import { connected } from '../channels/gateway/client.ts';

/** Calls an operation. @throws Error with the code and the message of a refusal */
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads any field of any result
export type Call = (name: string, params?: object, idempotencyKey?: string) => Promise<any>;

/** Its connection is closed at the end of the test. */
export async function operatorOf(troupe: { readonly url: string }): Promise<Call> {
  const client = await connected(troupe);
  onTestFinished(() => client.close());
  return async (name, params = {}, idempotencyKey) => {
    const request = { name, params, ...defined({ idempotencyKey }) };
    const { ok, payload, error } = await client.call('operations.run', request);
    if (ok) return payload;
    throw new Error(`${String(error?.details?.['reason'])}: ${error?.message}`);
  };
}
