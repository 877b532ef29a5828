/** Which requests of operators the scopes of a token allow. */
import { expect, test } from 'vitest';
import type { TokenScope } from '../../../../operations/access.ts';
import { operatorOf } from '../../../../channels/edge/identity/operator.ts';

const ask = (method: string, scopes?: readonly TokenScope[]) => {
  const caller = { sub: 'ann', roles: ['operator'], tenant: 'default', profile: 'A2A-Basic' };
  const identity = {
    authenticate: async () => ({ ...caller, ...(scopes ? { scopes } : {}) }) as never,
    verifyEnvelope: async () => {},
  };
  const request = { method, headers: {}, url: '/v1/sessions' };
  return operatorOf(identity, 'default')({ request: request as never });
};

test('an operator reads with the scope of reads or changes, and changes with that of changes', async () => {
  for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
    await expect(ask(method)).resolves.toBeDefined();
    await expect(ask(method, ['troupe:operate'])).resolves.toBeDefined();
    await expect(ask(method, ['troupe:call'])).rejects.toMatchObject({ code: 'FORBIDDEN' });
  }
  await expect(ask('HEAD', ['troupe:read'])).resolves.toBeDefined();
  for (const method of ['POST', 'DELETE'])
    await expect(ask(method, ['troupe:read'])).rejects.toMatchObject({
      details: { scope: 'troupe:operate' },
    });
});
