/** OpenClaw's command line, unmodified, against troupe (GW4). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, installTroupe, type User } from './installation.ts';

let troupe: Installation;
let user: User;
beforeAll(async () => {
  troupe = await installTroupe();
  user = troupe.user('ann');
});
afterAll(() => troupe.stop());

const good = async (...args: string[]): Promise<string> => {
  const { code, out } = await user.run(args);
  if (code !== 0) throw new Error(`openclaw ${args.join(' ')} ended with ${code}:\n${out}`);
  return out;
};

describe('openclaw', () => {
  it('health and gateway health say that the gateway is well', async () => {
    expect(await good('gateway', 'health')).toMatch(/OK/);
    expect(await good('health')).toMatch(/Agents: main \(default\)/);
    expect(JSON.parse(jsonIn(await good('health', '--json')))).toMatchObject({ ok: true });
  });

  it('status reaches the gateway', async () => {
    expect(await good('status')).toMatch(/reachable/);
  });

  it('agent sends a message and prints the reply', async () => {
    expect(await good('agent', '--agent', 'main', '-m', 'what is 6 * 7?')).toMatch(/42/);
  });

  it('agent sent again after kill -9 goes on in the same session', async () => {
    await good('agent', '--agent', 'main', '-m', 'remember the word heron');
    await troupe.restart();
    const history = await good(
      'gateway',
      'call',
      'chat.history',
      '--params',
      JSON.stringify({ sessionKey: 'agent:main:main', limit: 50 }),
    );
    expect(history).toMatch(/remember the word heron/);
  });

  it('models list shows the models', async () => {
    expect(await good('models', 'list')).toMatch(/offline\/troupe-offline/);
  });

  it('cron add, list, run and rm', async () => {
    await good(
      'cron',
      'add',
      '--name',
      'tea',
      '--every',
      '1h',
      '--message',
      'tea?',
      '--agent',
      'main',
    );
    const listed = await good('cron', 'list', '--json');
    const [job] = JSON.parse(jsonIn(listed)).jobs;
    expect(job).toMatchObject({ name: 'tea', enabled: true });
    await good('cron', 'run', job.id);
    expect(await good('cron', 'list')).toMatch(/tea/);
    await good('cron', 'rm', job.id);
    expect(JSON.parse(jsonIn(await good('cron', 'list', '--json'))).jobs).toEqual([]);
  });

  it('devices list and nodes status answer', async () => {
    expect(await good('devices', 'list')).toMatch(/No device|Paired|Pending/i);
    expect(await good('nodes', 'status')).toMatch(/Known: 0|No nodes|Paired/i);
  });

  it('a wrong token is refused with the reason', async () => {
    const { code, out } = await user.run([
      'gateway',
      'call',
      'health',
      '--url',
      `ws://127.0.0.1:${troupe.port}`,
      '--token',
      'wrong',
    ]);
    expect(code).not.toBe(0);
    expect(out).toMatch(/token/i);
  });
});

/** What it prints beside JSON comes before it. */
const jsonIn = (out: string): string => out.slice(out.search(/^[[{]/m));
