/**
 * The agent `conformance` is offered to one tenant only, and its failures affect no other tenant.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { CONFORMANCE_TENANT } from '../../conformance/agent/actions.ts';
import { issueToken } from '../../channels/edge/identity/local-issuer.ts';
import { startTroupe, type Troupe } from '../../main.ts';
import type { SloReport } from '../../operations/slo-report.ts';
import { ensureToken, loadConfig } from '../../runtime/config/index.ts';
import { eventually } from '../runtime/eventually.ts';
import { newEnvelope } from '../protocols/new-envelope.ts';

const home = mkdtempSync(join(tmpdir(), 'troupe-conformance-tenant-'));
const loaded = loadConfig({ env: {}, home, flags: { data: home, port: '0' } });
const config = ensureToken(loaded.config);
let troupe: Troupe;
let origin: string;

beforeAll(async () => {
  troupe = await startTroupe({ ...config, log: { ...config.log, level: 'error' } });
  origin = new URL(troupe.url).origin;
  return async () => {
    await troupe.stop();
    rmSync(home, { recursive: true, force: true });
  };
});

const tokenOf = (tenant: string): Promise<string> => {
  const { resource } = config.a2a;
  const who = { sub: 'ann', tenant, roles: ['agent'], resource, ttlSec: 600, external: false };
  return issueToken(home, who, Date.now());
};

const get = async (path: string, token: string): Promise<unknown> =>
  (await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } })).json();

async function send(tenant: string, action: string, payload: object) {
  const response = await fetch(`${origin}/v1/envelopes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenOf(tenant)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(
      newEnvelope(
        action,
        { subject: randomUUID(), ...payload },
        { tenant_id: tenant, principal: { sub: 'ann', roles: ['agent'] }, seq: Date.now() },
      ),
    ),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

it.for(['default', 'acme'])('the tenant %s neither sees nor calls its actions', async (tenant) => {
  const token = await tokenOf(tenant);
  for (const path of ['/mcp/capabilities', '/v1/agents', '/openapi.json', '/asyncapi.json'])
    expect(`${path} ${JSON.stringify(await get(path, token))}`).not.toContain('conformance.');
  const { status, body } = await send(tenant, 'conformance.echo_payload', { text: 'hello' });
  expect([status, body]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
});

it('its tenant sees and calls them, and its failures count for no other tenant', async () => {
  const token = await tokenOf(CONFORMANCE_TENANT);
  expect(JSON.stringify(await get('/mcp/capabilities', token))).toContain(
    'conformance.fail_always',
  );
  const failing = { code: 'UNAVAILABLE' };
  expect((await send(CONFORMANCE_TENANT, 'conformance.fail_always', failing)).status).toBe(200);

  expect(
    (await send('default', 'notifier.send_notification', { to: 'ann', text: 'hi' })).status,
  ).toBe(200);
  const operator = config.gateway.auth.token!.reveal();
  const sloOf = async (tenant: string) =>
    (await get(`/v1/slo?tenant=${tenant}`, operator)) as SloReport;
  await eventually(async () => expect((await sloOf(CONFORMANCE_TENANT)).kept).toBe(false));
  expect((await sloOf('default')).kept).toBe(true);
});
