import { describe, expect, it } from 'vitest';
import { sessionMachine } from '../../../actors/session/machine.ts';
import { withAgentLoop } from '../../../actors/session/migrate.ts';
import { modelCallOf, planOf, toolCallsOf } from '../../../actors/session/version-1.ts';
import type { CallModelInput, SessionContext } from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
import type { Append, Meta, Tell } from '../../../protocols/statechart.ts';
import { checkRow } from '../../../runtime/statechart/check.ts';
import { load, type MachineRow, settled, step } from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';
import { converseOf, endedOf, spawnOf } from './bonds-walk.ts';
import { resultOf } from './driven.ts';
import { STORED_BEFORE_TALK } from './stored-version-2.ts';

const self = address('default', 'session', 'agent:main:main');
const settings = { agentId: 'main', timeoutMs: 100_000, runsMax: 1, tokensPerDay: 0 };
const usage = { inputTokens: 3, outputTokens: 2 };
const call = { id: 'c0', name: 'clock', args: {} };

/** A row as version 1 wrote it, in one of its states. */
const rowOf = (
  value: MachineRow['snap']['v'],
  jobs: MachineRow['jobs'] = {},
  timers: readonly string[] = [],
): MachineRow => ({
  seq: 9,
  snap: {
    s: 'active',
    v: value,
    c: {
      self,
      tenant: 'default',
      sessionKey: 'agent:main:main',
      agentId: 'main',
      sessionId: 's1',
      createdAt: 1,
      updatedAt: 2,
      length: 2,
      queue: value === 'idle' ? [] : [{ runId: 'r2', text: 'and then?', acceptedAt: 2 }],
      usage,
      lastMessage: 'hello',
      run:
        value === 'idle'
          ? null
          : {
              runId: 'r1',
              text: 'hello',
              acceptedAt: 1,
              startedAt: 1,
              status: 'running',
              entries: 2,
              calls: 1,
              attempt: 0,
              usage,
              tools: [call],
              settings,
            },
    },
  },
  jobs,
  timers: Object.fromEntries(
    timers.map((name) => [
      `xstate.after.${name}`,
      { due: 9_000, key: 'k1', event: { type: `xstate.after.${name}` } },
    ]),
  ) as MachineRow['timers'],
});

const job = (id: string, src: string): MachineRow['jobs'] => ({ [id]: { key: 'k0', src } });
const WORKING = 'runTimeout.session.running.working';

const rows: [string, MachineRow][] = [
  ['idle', rowOf('idle')],
  [
    'admitting',
    rowOf({ running: 'admitting' }, {}, ['admissionPatience.session.running.admitting']),
  ],
  ['thinking', rowOf({ running: { working: 'thinking' } }, job('model', 'callModel'), [WORKING])],
  [
    'backingOff',
    rowOf({ running: { working: 'backingOff' } }, {}, [
      WORKING,
      'retryBackoff.session.running.working.backingOff',
    ]),
  ],
  ['acting', rowOf({ running: { working: 'acting' } }, job('tools', 'callTools'), [WORKING])],
];

describe('a session that version 1 stored', () => {
  it.each(rows)('fits the chart of today when it was %s', (_, row) => {
    expect(checkRow(sessionMachine, withAgentLoop(row))).toEqual([]);
  });

  it('continues with the results of its pending tools, and then calls the model', () => {
    const row = withAgentLoop(rows.at(-1)![1]);
    const meta: Meta = { id: 'm1', now: 50, self };
    const results = [{ callId: 'c0', name: 'clock', result: '12:00', isError: false }];
    const made = step(
      sessionMachine,
      load(sessionMachine, row),
      settled('tools', 'k0', results, meta),
      50,
    );
    expect(made.error).toBeUndefined();
    expect(made.live.snapshot.value).toEqual({ running: { working: 'thinking' } });
    const [tools] = requestsOf<Append>(made.requests, 'append');
    expect(tools!.entries).toMatchObject([{ type: 'tool', callId: 'c0', runId: 'r1' }]);
    const context = made.live.snapshot.context as SessionContext;
    expect(context.run).toMatchObject({ entries: 3, planned: [], isAssembled: true });
    expect(context.settings).toEqual(settings);
    expect(context.queue).toMatchObject([{ runId: 'r2', mode: 'followup' }]);
  });

  it('makes its recorded model call again from the beginning of the transcript', () => {
    const recorded = {
      sessionKey: 'agent:main:main',
      tenant: 'default',
      agentId: 'main',
      runId: 'r1',
      entries: 2,
      call: 1,
    };
    expect(modelCallOf(recorded as unknown as CallModelInput)).toMatchObject({
      ...recorded,
      from: 1,
      isCompacted: false,
      settings: { agentId: 'main' },
    });
  });

  it('runs a recorded call that no plan was made for with nothing to touch', () => {
    const about = { sessionKey: 'k', tenant: 'default', agentId: 'main', runId: 'r1' };
    const { calls } = toolCallsOf({ ...about, calls: [call as never] });
    expect(calls).toMatchObject([{ confinement: { sandboxed: true, workspaceAccess: 'none' } }]);
  });

  it('refuses the calls of an answer without a plan, so that the model asks again', () => {
    const answer = { text: '', calls: [call], stop: 'tools', usage, model: 'offline/offline' };
    expect(planOf(answer as never)).toMatchObject([
      { id: 'c0', refused: expect.stringContaining('Call it again') },
    ]);
  });
});

describe('a session that was stored before agents could talk', () => {
  it('fits the chart of today', () => {
    expect(checkRow(sessionMachine, STORED_BEFORE_TALK)).toEqual([]);
  });

  it('continues with its run, which may spawn and send, and then with the next one', () => {
    let live = load(sessionMachine, STORED_BEFORE_TALK);
    let now = 2_000;
    const metaOf = (): Meta => ({ id: `m${++now}`, now, self, reply: { id: 'q' } });
    const take = (cause: Parameters<typeof step>[2]) => {
      const made = step(sessionMachine, live, cause, now);
      expect(made.error).toBeUndefined();
      live = made.live;
      return requestsOf<Tell>(made.requests, 'tell').map(({ event }) => event.type);
    };
    const say = (event: object) => take({ event: { ...event, meta: metaOf() } as never });
    const done = (id: string, output: unknown) =>
      take(settled(id, live.jobs[id]!.key, output, metaOf()));
    const context = () => live.snapshot.context as SessionContext;
    const answer = { text: 'so', calls: [], planned: [], stop: 'end', usage, model: 'm' };

    expect(say(spawnOf('c1', 'r1', { wait: true }))).toEqual(['subagent.reserve']);
    expect(say(converseOf('t1', 'r1'))).toEqual(['conversation.begin', 'session.probe']);
    expect(say(endedOf('c1'))).toEqual(['subagent.heard']);
    done('tools', [{ ...resultOf('a'), ends: ['c1'] }]);
    expect(done('model', answer)).toEqual(['agent.release', 'agent.admit']);
    expect(context().run?.runId).toBe('r2');
    say({ type: 'agent.admitted', runId: 'r2', settings, lease: 300_000 });
    done('model', { ...answer, assembled: { digest: 'd', replyHooks: false } });
    expect(live.snapshot.value).toBe('idle');
    expect(context()).toMatchObject({ reset: null, queue: [], run: null });
    say({ type: 'session.close' });
    expect(live.snapshot.value).toBe('closed');
  });
});
