/**
 * Hooks in a whole installation: each is called at the time and with the event that docs/hooks.md
 * describes.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTroupe } from '../../main.ts';
import { type Config, loadConfig } from '../../runtime/config/index.ts';
import { connected, MAIN, TOKEN } from '../channels/gateway/client.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';

/** Records every call, and changes everything that it can. */
const witness = `
import { appendFileSync } from 'node:fs';
const file = new URL('./seen.jsonl', import.meta.url);
const answers = {
  message_received: ({ text }) =>
    text.includes('forbidden') ? { refuse: 'not here' } : { text: text.replace('7', '8') },
  before_agent_start: () => ({ prependContext: 'It is raining.' }),
  before_tool_call: ({ args }) =>
    args.expression === '13' ? { block: 'bad luck' } : { args: { expression: '40 + 2' } },
  tool_result_persist: ({ result }) => ({ result: result.replace('42', 'forty-two') }),
  message_sending: ({ text }) => ({ text: text + ' -- sent' }),
  command: ({ name }) => ({ reply: 'heard ' + name }),
};
const names = ['agent:bootstrap', 'command', 'before_agent_start', 'agent_end', 'before_tool_call',
  'after_tool_call', 'tool_result_persist', 'message_received', 'message_sending', 'message_sent',
  'session_start', 'session_end', 'gateway_start', 'gateway_stop'];
const hooks = Object.fromEntries(names.map((name) => [name, (event, { signal, ...about }) => {
  appendFileSync(file, JSON.stringify({ name, event, about }) + '\\n');
  return answers[name]?.(event);
}]));
export default { name: 'witness', hooks };
`;

type Seen = {
  readonly name: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly about: Readonly<Record<string, unknown>>;
};

const configOf = (files: Readonly<Record<string, string>>, more: Partial<Config['hooks']> = {}) => {
  const data = scratchFolder();
  const folder = join(data, 'hooks');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) write(folder, name, text);
  const { config } = loadConfig({ env: {}, flags: { data, port: '0', token: TOKEN } });
  const seen = () =>
    readFileSync(join(folder, 'seen.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Seen);
  const quiet: Config = {
    ...config,
    hooks: { ...config.hooks, ...more },
    log: { ...config.log, level: 'silent' },
  };
  return { config: quiet, folder, seen };
};

describe('hooks of an installation', () => {
  it('see a message, its run and its reply, and change them', async () => {
    const { config, seen } = configOf({ 'witness.mjs': witness });
    const troupe = await startTroupe(config);
    onTestFinished(() => troupe.stop());
    const client = await connected(troupe);
    onTestFinished(() => client.close());
    const send = (message: string, idempotencyKey: string) =>
      client.call('chat.send', { sessionKey: MAIN, message, idempotencyKey });
    const finalOf = (runId: string) =>
      client.frame(
        ({ event, payload }) =>
          event === 'chat' && payload.state === 'final' && payload.runId === runId,
      );

    await send('call calculate {"expression":"7"}', 'r1');
    const said = JSON.stringify((await finalOf('r1')).payload.message);
    expect(said).toContain('forty-two');
    expect(said).toContain(' -- sent');

    const about = { tenant: 'default', agentId: 'main', sessionKey: MAIN, runId: 'r1' };
    const before = seen();
    expect(before[0]).toMatchObject({ name: 'gateway_start', about: { tenant: 'default' } });
    expect(before.slice(1).map(({ name }) => name)).toEqual([
      'message_received',
      'session_start',
      'agent:bootstrap',
      'before_agent_start',
      'before_tool_call',
      'after_tool_call',
      'tool_result_persist',
      'agent_end',
      'message_sending',
      'message_sent',
    ]);
    for (const one of before.slice(1)) expect(one.about).toEqual(about);
    const eventOf = (wanted: string) => before.find(({ name }) => name === wanted)?.event;
    expect(eventOf('before_tool_call')).toMatchObject({ args: { expression: '8' } });
    expect(eventOf('after_tool_call')).toMatchObject({
      args: { expression: '40 + 2' },
      result: '42',
    });
    expect(eventOf('agent_end')).toMatchObject({ status: 'ok' });

    await send('call calculate {"expression":"13"}', 'r2');
    await finalOf('r2');
    const history = await client.call('chat.history', { sessionKey: MAIN });
    expect(JSON.stringify(history.payload)).toContain('bad luck');

    expect(await send('forbidden', 'r3')).toMatchObject({
      ok: false,
      error: { message: 'not here' },
    });

    await send('/new', 'r4');
    expect(JSON.stringify((await finalOf('r4')).payload)).toContain('heard new');
    await send('hello', 'r5');
    await finalOf('r5');
    await client.close();
    await troupe.stop();
    const after = seen().slice(before.length);
    const started = eventOf('session_start');
    expect(after.find(({ name }) => name === 'session_end')?.event).toMatchObject(started ?? {});
    expect(after.filter(({ name }) => name === 'session_start')).toHaveLength(1);
    expect(after.at(-1)).toMatchObject({ name: 'gateway_stop', event: { reason: 'troupe stops' } });
  });

  it('see the channel of a message and of its reply, which is sent when it is stored', async () => {
    const { config, seen } = configOf({ 'witness.mjs': witness });
    const troupe = await startTroupe(config);
    onTestFinished(() => troupe.stop());
    const modes = { webchat: 'webchat', terminal: 'cli' };
    for (const [channel, mode] of Object.entries(modes)) {
      const version = '1.0.0';
      const client = await connected(troupe, {
        client: { id: 'test', version, platform: 'linux', mode },
      });
      onTestFinished(() => client.close());
      const sent = { sessionKey: `agent:main:${channel}`, message: 'hi', idempotencyKey: channel };
      await client.call('chat.send', sent);
      await client.frame(({ event, payload }) => event === 'chat' && payload.state === 'final');
      const eventOf = (wanted: string) =>
        seen().find(({ name, about }) => name === wanted && about['runId'] === channel)?.event;
      expect(eventOf('message_received')).toMatchObject({ channel });
      expect(eventOf('message_sending')).toMatchObject({ channel });
      expect(eventOf('message_sending')).not.toHaveProperty('account');
      expect(eventOf('message_sent')).toMatchObject({ channel, outcome: 'sent' });
      const list = await client.call('sessions.list', {});
      expect(JSON.stringify(list.payload)).toContain(`"channel":"${channel}"`);
    }
  });

  it('are called once when a session ends, and not again with the next message', async () => {
    const { config, seen } = configOf({ 'witness.mjs': witness });
    const troupe = await startTroupe(config);
    onTestFinished(() => troupe.stop());
    const client = await connected(troupe);
    onTestFinished(() => client.close());
    const key = 'agent:main:ending';
    let runs = 0;
    const talk = async () => {
      const runId = `talk-${++runs}`;
      await client.call('chat.send', { sessionKey: key, message: 'hi', idempotencyKey: runId });
      await client.frame(
        ({ event, payload }) =>
          event === 'chat' && payload.state === 'final' && payload.runId === runId,
      );
    };
    const sessions = () =>
      seen()
        .filter(({ name }) => name === 'session_start' || name === 'session_end')
        .map(({ name, event, about }) => {
          expect(about['sessionKey']).toBe(key);
          const { sessionId, reason = '' } = event as { sessionId: string; reason?: string };
          return { name, sessionId, reason };
        });
    const ends = (count: number) =>
      eventually(() => {
        expect(sessions().filter(({ name }) => name === 'session_end')).toHaveLength(count);
      });

    await talk();
    await client.call('chat.send', { sessionKey: key, message: '/new', idempotencyKey: 'new' });
    await ends(1);
    await talk();
    await client.call('sessions.reset', { key });
    await ends(2);
    // a session without a run has no start and no end
    await client.call('sessions.reset', { key });
    await talk();
    const deleted = await client.call('sessions.delete', { key });
    expect(deleted).toMatchObject({ ok: true });
    await ends(3);
    await talk();
    await client.close();
    await troupe.stop();
    const sent = sessions();
    expect(sent.map(({ name, reason }) => `${name} ${reason}`.trim())).toEqual([
      'session_start',
      'session_end new',
      'session_start',
      'session_end reset',
      'session_start',
      'session_end deleted',
      'session_start',
    ]);
    for (const n of [0, 2, 4]) expect(sent[n + 1]?.sessionId).toBe(sent[n]?.sessionId);
    expect(new Set(sent.map(({ sessionId }) => sessionId)).size).toBe(4);
  });

  it('that cannot be loaded do not prevent the start, unless they are required', async () => {
    const files = { 'bad.mjs': 'export default {' };
    const troupe = await startTroupe(configOf(files).config);
    await troupe.stop();
    const { config, folder } = configOf(files, { required: true });
    await expect(startTroupe(config)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(join(folder, 'bad.mjs')) as string,
    });
  });
});
