/** Agent cards: contents, signatures, caches, tenants, and who sees what. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentCard, TaskState, verifyAgentCardSignature } from '@a2a-js/sdk';
import { createRemoteJWKSet } from 'jose';
import { expect, test } from 'vitest';
import { newSigningKey } from '../../../channels/edge/identity/local-issuer.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { sent, serveAgent2Agent, taskIn } from './gateway.ts';

const CARD = '/.well-known/agent-card.json';
const VERSION = { 'a2a-version': '1.0' };

const cardAt = async (url: string, headers: Record<string, string> = VERSION) => {
  const response = await fetch(url, { headers });
  expect(response.status).toBe(200);
  return AgentCard.fromJSON(await response.json());
};

/** As a client verifies it: with the keys that the card names. */
const verified = (card: AgentCard): Promise<void> =>
  verifyAgentCardSignature(async (kid, jku) => {
    const key = await createRemoteJWKSet(new URL(jku!))({ alg: 'Ed25519', kid });
    return key;
  })(card);

test('a card names its interfaces by absolute URLs, and its skills, and is signed', async () => {
  const { url } = await serveAgent2Agent();
  const card = await cardAt(`${url}/a2a/tester${CARD}`);
  expect(card).toMatchObject({
    name: 'tester',
    version: '9.8.7',
    supportedInterfaces: [
      { url: `${url}/a2a/tester`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${url}/a2a/tester/v1`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, extendedAgentCard: true },
  });
  const skills = card.skills.map(({ id }) => id);
  expect(skills).toContain('test.echo_text');
  expect(skills).not.toContain('test.guard_door');
  await verified(card);
  await expect(verified({ ...card, description: 'another' })).rejects.toThrow(/signature/i);
});

test('the extended card lists what its caller may use, over both bindings', async () => {
  const gateway = await serveAgent2Agent();
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    const skillsOf = async (as: string) => {
      const client = await gateway.client({ as, binding });
      const card = await client.getAgentCard();
      await verified(card);
      return card.skills.map(({ id }) => id);
    };
    expect(await skillsOf('alice')).not.toContain('test.guard_door');
    expect(await skillsOf('clerk')).toContain('test.guard_door');
  }
});

test('during a rotation a card has two signatures, each valid alone', async () => {
  const keyFile = join(scratchFolder(), 'two.jwk');
  writeFileSync(keyFile, JSON.stringify({ keys: [newSigningKey(), newSigningKey()] }), {
    mode: 0o600,
  });
  const { url } = await serveAgent2Agent({ keyFile });
  const card = await cardAt(`${url}/a2a/main${CARD}`);
  expect(card.signatures).toHaveLength(2);
  for (const one of card.signatures) await verified({ ...card, signatures: [one] });
});

test('a client that has the card gets 304', async () => {
  const { url } = await serveAgent2Agent();
  const first = await fetch(`${url}${CARD}`, { headers: VERSION });
  expect(first.headers.get('cache-control')).toBe('public, max-age=300');
  expect(await first.json()).toMatchObject({ name: 'main', skills: [{ id: 'chat' }] });
  const etag = first.headers.get('etag')!;
  for (const tag of [etag, `"other", W/${etag}`, '*']) {
    const again = await fetch(`${url}${CARD}`, { headers: { ...VERSION, 'if-none-match': tag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  }
  const other = await fetch(`${url}${CARD}`, { headers: { ...VERSION, 'if-none-match': '"x"' } });
  expect(other.status).toBe(200);
});

test('without a token, an unknown agent and an unknown tenant have the same answer', async () => {
  const { url } = await serveAgent2Agent();
  const answerOf = async (path: string, headers: Record<string, string> = VERSION) => {
    const response = await fetch(`${url}${path}${CARD}`, { headers });
    const { date: _, ...kept } = Object.fromEntries(response.headers);
    return { status: response.status, headers: kept, body: await response.text() };
  };
  const unknown = await answerOf('/tenants/acme/a2a/unknown');
  expect(unknown.status).toBe(404);
  expect(await answerOf('/a2a/unknown')).toEqual(unknown);
  expect(await answerOf('/tenants/nowhere/a2a/unknown')).toEqual(unknown);
  expect((await answerOf('/tenants/acme/a2a/tester')).status).toBe(200);
  expect((await answerOf('/tenants/nowhere/a2a/tester')).status).toBe(404);
  const wrong = { ...VERSION, authorization: 'Bearer unknown' };
  expect((await answerOf('/tenants/nowhere/a2a/tester', wrong)).status).toBe(401);
});

test('a tenant in the path must be that of the token', async () => {
  const { url } = await serveAgent2Agent();
  const body = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'chào' }] } };
  const statusOf = async (tenant: string, as: string) => {
    const response = await fetch(`${url}/tenants/${tenant}/a2a/main/v1/message:send`, {
      method: 'POST',
      headers: { ...VERSION, authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
    return response.status;
  };
  expect(await statusOf('acme', 'alice')).toBe(200);
  expect(await statusOf('other', 'alice')).toBe(404);
  expect(await statusOf('acme', 'mallory')).toBe(404);
});

test('cards that are not public need a token', async () => {
  const { url } = await serveAgent2Agent({ publicCards: false });
  const at = `${url}/a2a/tester${CARD}`;
  expect((await fetch(at)).status).toBe(401);
  const shown = await fetch(at, { headers: { ...VERSION, authorization: 'Bearer alice' } });
  expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
});

test('clients of 0.3 are served where they are enabled, and refused elsewhere', async () => {
  const gateway = await serveAgent2Agent({ legacy: true });
  const old = await fetch(`${gateway.url}${CARD}`);
  expect(await old.json()).toMatchObject({
    protocolVersion: expect.stringMatching(/^0\.3/),
    url: `${gateway.url}/a2a/main`,
    supportedInterfaces: expect.any(Array),
  });
  const send = {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: {
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: 'chào' }],
      },
    },
  };
  const answer = await gateway.rpc('main', send, { headers: { 'a2a-version': '0.3' } });
  expect(answer.body.result).toMatchObject({
    kind: 'task',
    status: { state: 'completed' },
    artifacts: [{ parts: [{ kind: 'text', text: 'main heard chào' }] }],
  });
  const strict = await serveAgent2Agent();
  for (const version of ['0.3', '', '2.0']) {
    const refused = await strict.rpc('main', send, { headers: { 'a2a-version': version } });
    expect(refused.body).toMatchObject({ error: { code: -32_009 } });
  }
});

test('the client of the SDK speaks 0.3 to an interface of 0.3', async () => {
  const gateway = await serveAgent2Agent({ legacy: true });
  const card = await cardAt(`${gateway.url}/a2a/main${CARD}`);
  const isOld = ({ protocolVersion }: { protocolVersion: string }) => protocolVersion === '0.3';
  const client = await gateway.factory({ legacy: true }).createFromAgentCard({
    ...card,
    supportedInterfaces: card.supportedInterfaces.filter(isOld),
  });
  expect(client.protocolVersion).toBe('0.3');
  const task = taskIn(await client.sendMessage(sent({ text: 'chào' })));
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect((await client.getTask({ tenant: '', id: task.id })).id).toBe(task.id);
  const cases: (string | undefined)[] = [];
  for await (const { payload } of client.sendMessageStream(sent({ text: 'again' })))
    cases.push(payload?.$case);
  expect([cases[0], cases.at(-1)]).toEqual(['task', 'statusUpdate']);
});
