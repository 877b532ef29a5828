/**
 * Hostile requests of both bindings to the running program: none is answered with a status of 500
 * or above, nothing is logged as an error, and its memory does not grow with them.
 * `TROUPE_HOSTILE_REQUESTS=10000` sends more.
 */
import { expect, test } from 'vitest';
import { startHostileProgram } from '../hostile-program.ts';
import { type HostileRequest, hostileRequests } from './hostile.ts';

test('hostile requests fail alone', { timeout: 900_000 }, async () => {
  const { url, authorization, sendAll } = await startHostileProgram({
    agent2agent: { legacy: true },
  });
  const send = async ({ path, method, headers, body }: HostileRequest): Promise<number> => {
    const response = await fetch(`${url}/a2a/main${path}`, {
      method,
      headers: { authorization, ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(60_000),
    });
    const { status } = response;
    expect(status, `${method} ${path} ${body}: ${await response.text()}`).toBeLessThan(500);
    return status;
  };
  await sendAll(hostileRequests, send);
});
