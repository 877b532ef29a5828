/** `cron` and `message` against real actors. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { cronTool } from '../../../agent/tools/schedule/cron.ts';
import { messageTool } from '../../../agent/tools/sessions/message.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { agentAddress } from '../../../actors/index.ts';
import type { NotificationRow } from '../../../protocols/notification.ts';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { eventually } from '../../runtime/eventually.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';
import { toolContext } from './context.ts';

const principal = { sub: 'agents', roles: [] };

async function opened(): Promise<System> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  return system;
}

const contextOn = (system: System, changes: Partial<ToolContext> = {}): ToolContext =>
  toolContext({
    system: {
      ask: (to, event, options = {}) =>
        system.ask(to, event, { principal, timeoutMs: 15_000, ...options }),
      index: () => Promise.resolve(system.index),
      transcript: (of) => ({
        read: (options) => system.transcripts.read(of, options),
        last: () => system.transcripts.last(of),
      }),
    },
    ...changes,
  });

/** Calls under keys of their own, as a run's calls have them. */
function calling(system: System, changes: Partial<ToolContext> = {}) {
  let calls = 0;
  return (args: object, key = `call-${++calls}`) =>
    cronTool.run(args, contextOn(system, { idempotencyKey: key, ...changes }));
}
const idIn = (text: string): string => /job-[0-9a-f]{16}/.exec(text)?.[0] ?? `no id in ${text}`;
const daily = { action: 'add', cron: '0 9 * * *', timeZone: 'Europe/Berlin', text: 'good morning' };

describe('cron', () => {
  it('adds, shows, changes, runs and removes a job, with results as text', {
    timeout: 60_000,
  }, async () => {
    const system = await opened();
    const run = calling(system);
    expect((await run({ action: 'list' })).text).toBe('You have no jobs.');
    const added = await run({ ...daily, name: 'morning' });
    const jobId = idIn(added.text);
    expect(added.text).toMatch(/\(morning\): 0 9 \* \* \* \(Europe\/Berlin\), waiting; next 2/);
    expect((await run({ action: 'list' })).text).toContain(`to agent:main:cron:${jobId}`);
    const changed = await run({ action: 'update', jobId, everySeconds: 7_200, session: 'main' });
    expect(changed.text).toMatch(/every 7200 s, waiting; .*to agent:main:main/);
    expect((await run({ action: 'update', jobId, enabled: false })).text).toMatch(/, off;/);
    expect((await run({ action: 'runs', jobId })).text).toBe('It has not run yet.');
    expect((await run({ action: 'run', jobId })).text).toMatch(/runs now, as job-.*\.now\./);
    await eventually(async () =>
      expect((await run({ action: 'runs', jobId })).text).toMatch(/ ok job-/),
    );
    expect((await run({ action: 'remove', jobId })).text).toBe('The job is removed.');
    expect((await run({ action: 'list' })).text).toBe('You have no jobs.');
  });

  it('adds one job however often a call is repeated', async () => {
    const system = await opened();
    const run = calling(system);
    const first = await run(daily, 'the same');
    expect(await run(daily, 'the same')).toEqual(first);
    expect((await run({ action: 'list' })).text.split('\n')).toHaveLength(1);
  });

  it('shows no jobs of other agents, and cannot change them', async () => {
    const system = await opened();
    const jobId = idIn((await calling(system)(daily)).text);
    const other = calling(system, { agentId: 'second' });
    expect((await other({ action: 'list' }, 'a')).text).toBe('You have no jobs.');
    for (const action of ['update', 'remove', 'run', 'runs'])
      expect(await other({ action, jobId }, action)).toMatchObject({
        isError: true,
        text: expect.stringContaining(`you have no job ${jobId}`) as string,
      });
  });

  it.each<[object, RegExp]>([
    [{ action: 'add', text: 'x' }, /the time is missing/],
    [{ action: 'add', text: 'x', at: '2030-01-01T00:00:00Z', cron: '* * * * *' }, /only one of/],
    [{ action: 'add', text: 'x', at: '2030-01-01T00:00:00' }, /ISO 8601 with an offset/],
    [{ action: 'add', text: 'x', at: '2001-01-01T00:00:00Z' }, /has passed/],
    [{ action: 'add', text: 'x', cron: 'at nine' }, /at nine.*cannot be read/],
    [{ action: 'add', everySeconds: 60 }, /requires `text`/],
    [{ action: 'remove' }, /jobId is missing/],
  ])('says what is wrong with %j', async (args, words) => {
    const result = await calling(await opened())(args);
    expect(result).toMatchObject({ isError: true, text: expect.stringMatching(words) as string });
  });
});

describe('cron cannot bypass the policy for messages between agents', () => {
  const confinement = { sandboxed: true, workspaceAccess: 'rw' } as const;
  const behind = { confinement, sessionKey: 'agent:main:web' };

  it('a sandboxed session schedules messages to itself, and none to the main session', async () => {
    const system = await opened();
    const run = calling(system, behind);
    const refused = await run({ ...daily, session: 'main' });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('agents.defaults.sandbox.sessionToolsVisibility');
    expect((await run({ ...daily, session: 'here' })).text).toContain('to agent:main:web');
    const jobId = idIn((await run(daily, 'another')).text);
    expect((await run({ action: 'update', jobId, text: 'good night' })).isError).toBeUndefined();
    const moved = await run({ action: 'update', jobId, session: 'main' });
    expect(moved.text).toContain('may not send messages to agent:main:main');
  });

  it('a sandboxed session cannot change, run or remove a job of the main session', async () => {
    const system = await opened();
    const jobId = idIn((await calling(system)({ ...daily, session: 'main' })).text);
    const run = calling(system, behind);
    for (const args of [
      { action: 'update', text: 'run this' },
      { action: 'run' },
      { action: 'remove' },
    ])
      expect((await run({ ...args, jobId }, args.action)).isError).toBe(true);
    expect((await run({ action: 'list' })).text).toContain('good morning');
    const talk = { ...NO_TALK, visibility: 'all' as const };
    const open = calling(system, { ...behind, talk });
    expect((await open({ action: 'remove', jobId }, 'open')).text).toBe('The job is removed.');
  });

  it('a subagent has no jobs, because its task ends', async () => {
    const system = await opened();
    const run = calling(system, { sessionKey: 'agent:main:subagent:u1' });
    expect(await run(daily)).toMatchObject({
      isError: true,
      text: expect.stringContaining('ends with its task'),
    });
    expect((await run({ action: 'list' })).text).toBe('You have no jobs.');
  });
});

describe('message', () => {
  const message = messageTool(new Promise<never>(() => {}));

  it('to this conversation is reported as sent, so that the reply does not repeat it', async () => {
    const result = await message.run({ text: 'half done' }, toolContext());
    expect(result).toMatchObject({ sent: [{ to: 'agent:main:main', text: 'half done' }] });
  });

  it('to a named person is one notification, however often the call is repeated', async () => {
    const system = await opened();
    const context = contextOn(system);
    const first = await message.run({ text: 'it burns', to: 'ada' }, context);
    expect(await message.run({ text: 'it burns', to: 'ada' }, context)).toEqual(first);
    expect(first.sent).toEqual([{ to: 'ada', text: 'it burns' }]);
    const rows = system.index.list<NotificationRow>('notifications', 'default');
    expect(rows.map(({ value }) => value)).toMatchObject([
      { to: 'ada', text: 'it burns', state: 'sent' },
    ]);
  });
});

it('a retired agent refuses messages of jobs, and the job reports it', async () => {
  const system = await opened();
  const run = calling(system);
  const jobId = idIn((await run(daily)).text);
  await system.tell(agentAddress('default', 'main'), { type: 'agent.retire' }, { principal });
  await run({ action: 'run', jobId });
  await eventually(async () =>
    expect((await run({ action: 'runs', jobId })).text).toMatch(/ error job-.*retired/i),
  );
});
