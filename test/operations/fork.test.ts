/**
 * Forks on the embedded store. A fork that shared anything with its session would send a message,
 * ask for an approval or count tokens twice.
 */
import { expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { conversationFrom } from '../../agent/context/conversation.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { runProgram } from '../cli/program.ts';
import { install, type Installation } from '../agent-runs/installation.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { type Call, operatorOf } from './operator.ts';

const KEY = 'agent:main:main';

const textsOf = async (troupe: Installation, key: string) =>
  (await troupe.transcript(key)).flatMap((entry) =>
    entry.type === 'user' || entry.type === 'assistant' ? [entry.text] : [],
  );

/** Numbers of the turns of a session, oldest first. */
const turnsOf = async (call: Call, key: string): Promise<number[]> => {
  const { turns } = await call('actors.history', { actor: `default/session/${key}`, limit: 1_000 });
  return turns.map(({ turn }: { turn: number }) => turn).toReversed();
};

it('a fork at every turn of a recorded run answers the next message', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo apples');
  await troupe.run(KEY, 'call calculate {"expression": "6 * 7"}');
  await troupe.send(KEY, 'call exec {"command": "touch x"}');
  await eventually(async () => expect((await call('approvals.list')).approvals).toHaveLength(1));
  const before = await textsOf(troupe, KEY);
  const turns = await turnsOf(call, KEY);
  expect(turns.length).toBeGreaterThan(6);
  for (const turn of turns) {
    const forked = await call('sessions.fork', { key: KEY, turn });
    expect(forked.forkedFrom).toEqual({ key: KEY, turn });
    const texts = await textsOf(troupe, forked.key);
    expect(before.slice(0, texts.length)).toEqual(texts);
    expect(await call('sessions.show', { key: forked.key })).toMatchObject({
      hasActiveRun: false,
      inputTokens: 0,
      forkedFrom: { key: KEY, turn },
    });
    const { row } = await troupe.run(forked.key, 'echo pears');
    expect(row.status).toBe('ok');
    expect(row.text).toContain('pears');
  }
  expect(await textsOf(troupe, KEY)).toEqual(before);
  expect((await call('approvals.list')).approvals).toHaveLength(1);
});

const lastTurn = async (call: Call, key: string): Promise<number> =>
  (await turnsOf(call, key)).at(-1)!;

it('two forks are independent sessions, and one request is one fork', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo apples');
  const turn = await lastTurn(call, KEY);
  const one = await call('sessions.fork', { key: `default/session/${KEY}`, turn });
  const other = await call('sessions.fork', { key: KEY, turn, as: 'other' });
  expect(one.key).toMatch(/^agent:main:fork-/);
  expect(other.key).toBe('agent:main:other');
  await troupe.run(one.key, 'echo pears');
  await troupe.run(other.key, 'echo plums');
  expect((await textsOf(troupe, one.key)).join()).not.toContain('plums');
  expect((await textsOf(troupe, other.key)).join()).not.toContain('pears');
  expect((await textsOf(troupe, KEY)).join()).not.toMatch(/pears|plums/);
  await expect(call('sessions.fork', { key: KEY, turn, as: 'other' })).rejects.toThrow('CONFLICT');

  const sessions = async () => (await call('sessions.list')).totalCount;
  const before = await sessions();
  const again = await operatorOf(troupe);
  const request = { key: KEY, turn };
  const answers = await Promise.all([
    call('sessions.fork', request, 'request-1'),
    again('sessions.fork', request, 'request-1'),
  ]);
  await call('sessions.delete', { key: 'agent:main:other' });
  answers.push(await call('sessions.fork', request, 'request-1'));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(await sessions()).toBe(before);
});

it('a deleted session leaves its forks, and a deleted fork its session', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  const key = 'agent:main:first';
  await troupe.run(key, 'echo apples');
  const turn = await lastTurn(call, key);
  const fork = await call('sessions.fork', { key, turn }, 'r');
  const deleted = await call('sessions.fork', { key, turn });
  await call('sessions.delete', { key: deleted.key });
  await troupe.run(key, 'echo pears');
  await call('sessions.delete', { key });
  await expect(call('sessions.fork', { key, turn })).rejects.toThrow('does not exist');
  expect((await textsOf(troupe, fork.key)).join()).toContain('apples');
  await troupe.run(fork.key, 'echo plums');
  const nested = await call('sessions.fork', {
    key: fork.key,
    turn: await lastTurn(call, fork.key),
  });
  expect((await textsOf(troupe, nested.key)).join()).toMatch(/apples.*plums/);
  expect(await call('sessions.fork', { key, turn }, 'r')).toMatchObject({ key: fork.key });
  const shown = await call('actors.show', { actor: `default/session/${nested.key}` });
  expect(shown.forkedFrom.key).toBe(fork.key);
  const origins = (await troupe.transcript(nested.key)).map((entry) => entry.copied?.key);
  expect(origins).toContain(key);
  expect(origins).toContain(fork.key);
});

it('refuses what cannot be forked, and creates nothing then', async () => {
  const troupe = await install({ config: { tenants: { acme: {} } } });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo apples');
  const turns = await turnsOf(call, KEY);
  const refused = (params: object, why: string) =>
    expect(call('sessions.fork', { key: KEY, turn: turns.at(-1), ...params })).rejects.toThrow(why);
  await refused({ turn: 9_999 }, `the last one before is ${turns.at(-1)}`);
  await refused({ key: 'agent:main:none' }, 'NOT_FOUND');
  await refused({ key: 'default/agent/main' }, 'only sessions can be forked');
  await refused({ key: `acme/session/${KEY}` }, 'not of the tenant');
  await refused({ as: 'agent:main:cron:daily' }, 'INVALID_ARGUMENT');
  await refused({ as: 'agent:other:x' }, 'INVALID_ARGUMENT');
  expect((await call('sessions.list')).totalCount).toBe(1);
  await troupe.stop();
});

it('a turn that history keeps no more is refused with the oldest one that it keeps', async () => {
  const history = { types: { session: { keep: 'full', turns: 2 } } };
  const troupe = await install({ config: { runtime: { history } }, data: scratchFolder() });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo apples');
  const first = (await turnsOf(call, KEY))[0]!;
  await troupe.run(KEY, 'echo pears');
  const [oldest] = await turnsOf(call, KEY);
  await expect(call('sessions.fork', { key: KEY, turn: first })).rejects.toThrow(
    `its history goes back to turn ${oldest}`,
  );
});

it('copies what models see: from the last reset on, with the summary of a compaction', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo forgotten');
  await call('sessions.reset', { key: KEY });
  for (let n = 0; n < 240; n++) await troupe.run(KEY, `echo apple${n}`);
  expect(await call('sessions.compact', { key: KEY })).toMatchObject({ compacted: true });
  await troupe.run(KEY, 'echo pears');
  const { key, copied } = await call('sessions.fork', {
    key: KEY,
    turn: await lastTurn(call, KEY),
  });
  expect(copied).toBeGreaterThan(700);
  const texts = await textsOf(troupe, KEY);
  expect(await textsOf(troupe, key)).toEqual(texts.slice(2));
  await troupe.run(KEY, 'echo the end');
  await troupe.run(key, 'echo the end');
  expect(await promptOf(troupe, key)).toEqual(await promptOf(troupe, KEY));
});

const OF_ACME = 'the-token-of-acme';

/** A fork over HTTP. */
const post = async (troupe: Installation, key: string, body: object, headers: object = {}) => {
  const response = await fetch(
    new URL(`/v1/sessions/${encodeURIComponent(key)}/fork`, troupe.url),
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    },
  );
  return { status: response.status, body: (await response.json()) as { key: string } };
};

it('over HTTP and from the command line; a tenant forks its own sessions only', async () => {
  const troupe = await install({ config: { tenants: { acme: { token: OF_ACME } } } });
  const call = await operatorOf(troupe);
  await troupe.run(KEY, 'echo apples');
  const turn = await lastTurn(call, KEY);
  const keyed = { 'idempotency-key': 'k' };
  const first = await post(troupe, KEY, { turn }, keyed);
  expect(first.status).toBe(200);
  expect(await post(troupe, KEY, { turn }, keyed)).toEqual(first);
  const acme = { authorization: `Bearer ${OF_ACME}` };
  expect(await post(troupe, KEY, { turn }, acme)).toMatchObject({ status: 404 });
  expect(await post(troupe, `default/session/${KEY}`, { turn }, acme)).toMatchObject({
    status: 404,
  });
  const at = ['--url', troupe.url.replace('http', 'ws'), '--token', TOKEN];
  const command = ['sessions', 'fork', KEY, '--turn', String(turn), '--as', 'second'];
  expect(await runProgram([...command, ...at])).toMatchObject({
    code: 0,
    stdout: `agent:main:second is a fork of ${KEY} at turn ${turn}, with 3 entries\n`,
  });
  const shown = await runProgram(['actors', 'show', 'default/session/agent:main:second', ...at]);
  expect(shown.stdout).toContain(`forked      from ${KEY} at turn ${turn}`);
  const listed = await runProgram(['sessions', ...at]);
  expect(listed.stdout).toContain(`${KEY} at turn ${turn}`);
});

/** What a model receives after all of the conversation. */
async function promptOf(troupe: Installation, key: string) {
  const entries = await troupe.system.transcripts.read(sessionAddress('default', key), {
    limit: 10_000,
  });
  return conversationFrom(entries, { window: 200_000, reserveTokens: 1_000 }).messages;
}
