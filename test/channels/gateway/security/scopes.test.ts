import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METHOD_NAMES } from '../../../../channels/gateway/methods/index.ts';
import { GatewayMethods, SCOPES, type Scope } from '../../../../protocols/gateway/index.ts';
import { document } from '../../../protocols/gateway/published.ts';
import { type Client, connectParams } from '../client.ts';
import { helloAs, newDevice } from '../devices/device-identity.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';
import type { System } from '../../../../runtime/index.ts';

const scopeOf = (method: string) =>
  (GatewayMethods as Record<string, { scope: string | null }>)[method]!.scope!;

/** The published scope depends on the parameters: the table has the least one. */
const DYNAMIC = 'dynamic';

test('every method that is served is in the table, with the published scope', () => {
  const wrong = METHOD_NAMES.filter((method) => {
    const published = document.methods[method]?.scope;
    return published !== undefined && published !== DYNAMIC && published !== scopeOf(method);
  });
  expect(wrong).toEqual([]);
});

const folder = dataFolder();
let system: System;
/** A client of each single scope, one without a valid scope, and a node. */
const clients = new Map<string, { client: Client; scopes: readonly Scope[] }>();

beforeAll(async () => {
  system = await openRealSystem(folder.path, 1_000);
  const gateway = await openGateway(system);
  for (const scope of SCOPES) {
    clients.set(scope, { client: await openClient(gateway, { scopes: [scope] }), scopes: [scope] });
  }
  clients.set('none', { client: await openClient(gateway, { scopes: ['none'] }), scopes: [] });
  const node = await openChallenged(gateway);
  const params = connectParams({ role: 'node', scopes: [] }) as Parameters<typeof helloAs>[2];
  await helloAs(node, newDevice(), params);
  clients.set('node', { client: node, scopes: [] });
});
afterAll(async () => {
  await closeAll();
  await system.stop();
  folder.remove();
});

const may = (who: string, scopes: readonly Scope[], scope: string): boolean => {
  if (scope === 'node' || who === 'node') return scope === who;
  return (
    scopes.includes(scope as Scope) ||
    scopes.includes('operator.admin') ||
    (scope === 'operator.read' && scopes.includes('operator.write'))
  );
};

/** No method accepts these, so an authorized caller is refused before any effect. */
const NO_PARAMS = ['not', 'an', 'object'];

describe.each([...SCOPES, 'none', 'node'])('a client with %s', (who) => {
  test('may call the methods of its scope, and learns which scope every other method needs', async () => {
    const { client, scopes } = clients.get(who)!;
    for (const method of METHOD_NAMES) {
      const { error } = await client.call(method, NO_PARAMS);
      const isMissing = error?.details?.['code'] === 'MISSING_SCOPE';
      const scope = scopeOf(method);
      expect({ method, isLetThrough: !isMissing }).toEqual({
        method,
        isLetThrough: may(who, scopes, scope),
      });
      if (isMissing) {
        expect(error).toMatchObject({ code: 'FORBIDDEN', details: { missingScope: scope } });
      }
    }
  });
});
