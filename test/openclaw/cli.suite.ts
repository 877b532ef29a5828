/**
 * OpenClaw's command line, unmodified, against troupe: the commands that query a gateway, and the
 * output that a user sees.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { type Installation, installTroupe, jsonIn, type User } from './installation.ts';

let troupe: Installation;
let user: User;
beforeAll(async () => {
  troupe = await installTroupe('{ gateway: { port: 18789 } }');
  user = troupe.user('ann');
});
afterAll(() => troupe.stop());

const good = (...args: string[]): Promise<string> => user.good(args);
const json = async (...args: string[]) => jsonIn(await good(...args, '--json'));
const call = async (method: string, params: object = {}) =>
  jsonIn(await good('gateway', 'call', method, '--params', JSON.stringify(params)));
const secondAgo = () => Date.now() - 1_000;

describe('openclaw, asked how the gateway is', () => {
  it('health and gateway health report a healthy gateway', async () => {
    expect(await good('gateway', 'health')).toMatch(/OK/);
    expect(await good('health')).toMatch(/Agents: main \(default\)/);
    expect(await json('health')).toMatchObject({ ok: true, defaultAgentId: 'main' });
  });

  it('status --deep reaches the gateway with the token, and probes its health', async () => {
    const status = await good('status', '--deep');
    expect(status).toMatch(/Gateway\s+│ remote · ws:.*reachable.*auth token/);
    expect(status).toMatch(/Last heartbeat\s+│ none/);
    expect(status).not.toMatch(/unknown method/);
  });

  it('gateway probe reaches the gateway with read access', async () => {
    const probed = await good('gateway', 'probe', '--json');
    expect(probed).toMatch(/"ok": true/);
    expect(await good('gateway', 'probe')).toMatch(
      new RegExp(`ws://127.0.0.1:${troupe.port}\\s+Connect: ok.*Read probe: ok`),
    );
  });

  it('logs prints the log of the gateway', async () => {
    expect(await good('logs', '--limit', '50')).toMatch(/gateway: listening/);
    expect(await good('logs', '--limit', '50', '--json')).toMatch(/"type":"log"/);
  });

  it('system presence lists the connected clients', async () => {
    const there = jsonIn(await good('system', 'presence', '--json'));
    expect(there).toEqual(
      expect.arrayContaining([expect.objectContaining({ host: 'cli', roles: ['operator'] })]),
    );
  });

  it('system heartbeat last reports that there was none', async () => {
    expect((await good('system', 'heartbeat', 'last')).trim()).toBe('null');
  });

  it('a wrong token is refused with the reason', async () => {
    const url = `ws://127.0.0.1:${troupe.port}`;
    const args = ['gateway', 'call', 'health', '--url', url, '--token', 'wrong'];
    const { code, out } = await user.run(args);
    expect(code).not.toBe(0);
    expect(out).toMatch(/token mismatch|token/i);
    expect(out).not.toMatch(new RegExp(troupe.token));
  });
});

describe('openclaw agent', () => {
  it('sends a message and prints the reply', async () => {
    expect(await good('agent', '--agent', 'main', '-m', 'what is 6 * 7?')).toMatch(/42/);
  });

  it('--json prints the run, its session, the reply and the usage', async () => {
    const asked = secondAgo();
    const run = await json('agent', '--agent', 'main', '-m', 'what is 6 * 8?');
    expect(run).toMatchObject({
      status: 'ok',
      summary: 'completed',
      sessionKey: 'agent:main:main',
      result: {
        payloads: [{ text: expect.stringMatching(/48/) }],
        meta: {
          agentMeta: {
            provider: 'offline',
            model: 'troupe-offline',
            usage: { input: expect.any(Number), output: expect.any(Number) },
          },
        },
      },
    });
    const { tasks } = await call('tasks.list');
    expect(tasks).toEqual([]);
    const { ts } = await call('sessions.list');
    expect(ts).toBeGreaterThan(asked);
  });

  it('prints a long answer completely', async () => {
    const message = '[[words:3000]] [[pace:0]] at length';
    const said = await good('agent', '--session-key', 'agent:main:long', '-m', message);
    expect(said.trim().split(/\s+/)).toHaveLength(3_000);
  });

  it('uses a named session, which sessions.list then contains', async () => {
    await good('agent', '--session-key', 'agent:main:second', '-m', 'hello there');
    const { sessions } = await call('sessions.list', { includeLastMessage: true });
    const keys = sessions.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(expect.arrayContaining(['agent:main:main', 'agent:main:second']));
  });

  it('reports a failed run and exits with a failure code', async () => {
    const { code, out } = await user.run(['agent', '--agent', 'main', '-m', '[[fail:FORBIDDEN]]']);
    expect(out).not.toMatch(/unknown method/);
    expect(code === 0 ? out : 'ended with an error').toMatch(/error|fail|refus|forbidden/i);
  });

  it('continues in the same session after kill -9 of the gateway', async () => {
    await good('agent', '--agent', 'main', '-m', 'remember the word heron');
    await troupe.restart();
    const { messages } = await call('chat.history', { sessionKey: 'agent:main:main', limit: 50 });
    expect(JSON.stringify(messages)).toMatch(/remember the word heron/);
    const again = await good('agent', '--agent', 'main', '-m', 'what did I say before this?');
    expect(again).toMatch(/heron/);
  });
});

describe('openclaw, asked what there is', () => {
  it('models list shows the models', async () => {
    expect(await good('models', 'list')).toMatch(/offline\/troupe-offline/);
    const { models } = await json('models', 'list');
    expect(models).toEqual([expect.objectContaining({ key: 'offline/troupe-offline' })]);
  });

  it('skills list, tasks list, devices list and nodes list print empty lists', async () => {
    expect(await good('skills', 'list')).toMatch(/No skills found/);
    expect(await good('tasks', 'list')).toMatch(/Background tasks: 0/);
    expect(await good('devices', 'list')).toMatch(/No device pairing entries/);
    expect(await good('nodes', 'list')).toMatch(/Pending: 0 · Paired: 0/);
    expect(await good('nodes', 'pending')).toMatch(/No pending pairing requests/);
    expect(await good('nodes', 'status')).toMatch(/Known: 0 · Paired: 0 · Connected: 0/);
  });

  it('gateway call reads the configuration, without its secrets', async () => {
    const out = await good('gateway', 'call', 'config.get');
    expect(jsonIn(out)).toMatchObject({ valid: true, hash: expect.any(String) });
    expect(out).not.toMatch(new RegExp(troupe.token));
    expect(await call('config.schema.lookup', { path: 'gateway.port' })).toMatchObject({
      path: 'gateway.port',
      schema: { type: 'integer' },
    });
  });

  it('gateway call of an unknown method is refused', async () => {
    const { code, out } = await user.run(['gateway', 'call', 'tts.status']);
    expect(code).not.toBe(0);
    expect(out).toMatch(/unknown method: tts\.status/);
  });
});

describe('openclaw sessions', () => {
  it('compact, archive and delete change a session of the gateway', async () => {
    const key = 'agent:main:to-be-gone';
    await good('agent', '--session-key', key, '-m', 'hello');
    await good('sessions', 'compact', key);
    await good('sessions', 'delete', key, '--yes');
    const { sessions } = await call('sessions.list');
    expect(sessions.map((one: { key: string }) => one.key)).not.toContain(key);
  });
});

describe('openclaw cron', () => {
  const jobs = async (...args: string[]) => (await json('cron', 'list', ...args)).jobs;

  it('adds, edits, disables, enables, runs and removes a job, and lists its runs', async () => {
    const added = await json(
      'cron',
      'add',
      '--name',
      'tea',
      '--every',
      '1h',
      '--message',
      'repeat tea time',
      '--agent',
      'main',
    );
    const { id } = added;
    expect(added).toMatchObject({ name: 'tea', schedule: { kind: 'every', everyMs: 3_600_000 } });
    await good('cron', 'edit', id, '--every', '2h', '--name', 'more tea');
    expect(await jobs()).toEqual([
      expect.objectContaining({
        name: 'more tea',
        enabled: true,
        schedule: expect.objectContaining({ everyMs: 7_200_000 }),
      }),
    ]);
    await good('cron', 'disable', id);
    expect(await jobs()).toEqual([]);
    expect(await jobs('--all')).toEqual([expect.objectContaining({ id, enabled: false })]);
    await good('cron', 'enable', id);
    expect(await good('cron', 'list')).toMatch(/more tea\s+every 2h\s+in 2h/);

    const { runId } = jsonIn(await good('cron', 'run', id));
    const [run] = await eventually(async () => {
      const { entries } = jsonIn(await good('cron', 'runs', '--id', id));
      expect(entries).toHaveLength(1);
      return entries;
    });
    expect(run).toMatchObject({ jobId: id, runId, status: 'ok', summary: 'tea time' });
    expect(await good('cron', 'show', id)).toMatch(/status: ok/);
    await good('cron', 'rm', id);
    expect(await jobs('--all')).toEqual([]);
  });

  it('adds jobs by a cron expression with its time zone, and by a time', async () => {
    const at = new Date(Date.now() + 86_400_000).toISOString();
    const nightly = await json(
      'cron',
      'add',
      '--name',
      'nightly',
      '--cron',
      '0 3 * * *',
      '--tz',
      'Europe/Berlin',
      '--message',
      'tidy',
      '--agent',
      'main',
    );
    expect(nightly.schedule).toMatchObject({ expr: '0 3 * * *', tz: 'Europe/Berlin' });
    expect(new Date(nightly.state.nextRunAtMs).getUTCHours()).toBeOneOf([1, 2]);
    const once = await json(
      'cron',
      'add',
      '--name',
      'once',
      '--at',
      at,
      '--message',
      'tidy',
      '--agent',
      'main',
    );
    expect(once.schedule).toMatchObject({ kind: 'at' });
    expect(jsonIn(await good('cron', 'status'))).toMatchObject({ enabled: true, jobs: 2 });
    for (const { id } of [nightly, once]) await good('cron', 'rm', id);
  });

  it('system event wakes the main session', async () => {
    await good('system', 'event', '--mode', 'now', '--text', 'the kettle boils');
    await eventually(async () => {
      const history = await call('chat.history', { sessionKey: 'agent:main:main', limit: 50 });
      expect(JSON.stringify(history)).toMatch(/the kettle boils/);
    });
  });
});
