/** What a subagent counts, projects and reports, turn by turn. */
import { describe, expect, it } from 'vitest';
import { subagentMachine } from '../../../actors/subagent/machine.ts';
import type { RunEnded, RunEvent, SessionReceive } from '../../../protocols/session.ts';
import type { Message, Project, Publish, Tell } from '../../../protocols/statechart.ts';
import type { SubagentEnded, SubagentRow } from '../../../protocols/subagent.ts';
import {
  type StepRequest,
  initialState,
  type Cause,
  fired,
  type Live,
  step,
} from '../../../runtime/statechart/host.ts';
import { demand, requestsOf } from '../../charts/coverage.ts';
import { CHILD, ID, OTHER, PARENT, self, sessionOf, terms } from './walk.ts';

/** One subagent, and what its last turn requested of the host. */
class Driven {
  #live: Live;
  #now = 1_000;
  #turn = 0;
  requests: readonly StepRequest[] = [];

  constructor() {
    const input = { self, tenant: 'default', key: ID, now: this.#now };
    this.#live = initialState(subagentMachine, input, { id: 'm0', now: this.#now, self }).live;
  }

  take(event: Message, from?: string): this {
    const id = `m${++this.#turn}`;
    this.#now += 10;
    const meta = { id, now: this.#now, self, ...(from ? { from: sessionOf(from) } : {}) };
    return this.#go({ event: { ...event, meta } });
  }

  /** The earliest timer fires. */
  wait(): this {
    const armed = Object.entries(this.#live.timers).filter(([, timer]) => !timer.fired);
    const [id, { due, key }] = armed.toSorted(([, a], [, b]) => a.due - b.due)[0]!;
    this.#now = due;
    return this.#go(fired(this.#live, id, key, { id, now: due, self }));
  }

  #go(cause: Cause): this {
    const made = step(subagentMachine, this.#live, cause, this.#now);
    demand(made.outcome, `outcome of ${cause.event.type}`).toBe('moved');
    this.#live = made.live;
    this.requests = made.requests;
    return this;
  }

  get state(): unknown {
    return this.#live.snapshot.value;
  }

  get row(): SubagentRow {
    return requestsOf<Project>(this.requests, 'project').at(-1)!.value as SubagentRow;
  }
  get tells(): readonly Tell[] {
    return requestsOf<Tell>(this.requests, 'tell');
  }
  get end(): SubagentEnded {
    return this.tells.map(({ event }) => event)[0] as unknown as SubagentEnded;
  }
}

const reserve: Message = {
  type: 'subagent.reserve',
  parentRunId: 'r1',
  task: 'Count the words. '.repeat(20),
  label: 'words',
  terms,
  lineage: { hops: 1, visited: [PARENT], left: 10 },
  reportBack: true,
  hold: false,
};
const running = (): Driven =>
  new Driven().take(reserve, PARENT).take({ type: 'reply', to: 'x', result: {} });

const NOTHING = { usage: { inputTokens: 0, outputTokens: 0 }, spawned: 0 };
const ended = (more: Partial<RunEnded>): RunEnded => ({
  type: 'run.ended',
  runId: `sub-${ID}`,
  sessionKey: CHILD,
  status: 'ok',
  text: 'Seven.',
  usage: { inputTokens: 100, outputTokens: 10, costUsd: 0.5 },
  startedAt: 1_000,
  endedAt: 1_001,
  open: 0,
  below: NOTHING,
  ...more,
});

describe('the task', () => {
  it('is sent to its own session with all limits, and requests an answer', () => {
    const [tell, ...others] = new Driven().take(reserve, PARENT).tells;
    expect(others).toEqual([]);
    expect(tell).toMatchObject({ to: sessionOf(CHILD), ask: true });
    expect(tell!.event as unknown as SessionReceive).toEqual({
      type: 'session.receive',
      runId: `sub-${ID}`,
      text: reserve['task'],
      origin: { kind: 'task', sessionKey: PARENT, ids: [ID] },
      lineage: reserve['lineage'],
      notify: true,
      terms,
      timeoutMs: terms.timeoutMs,
      queue: 'followup',
    });
  });
});

describe('a message of the parent during the task', () => {
  it('brings no messages with it: those of the grant went with the task, and only once', () => {
    const subagent = running();
    for (const text of ['faster', 'and shorter']) {
      const { event } = subagent.take({ type: 'subagent.steer', text }, PARENT).tells[0]!;
      expect(event).toMatchObject({ text, queue: 'steer', lineage: { hops: 1, left: 0 } });
    }
  });
});

describe('the end', () => {
  it('carries what all runs have used, each once, with what was used below', () => {
    const subagent = running();
    const below = { usage: { inputTokens: 7, outputTokens: 3, costUsd: 0.25 }, spawned: 2 };
    subagent.take(ended({ open: 1, text: 'Wait.' }), CHILD);
    expect(subagent.row.usage).toEqual({ inputTokens: 100, outputTokens: 10, costUsd: 0.5 });
    subagent.take(ended({ open: 1, text: 'Wait.' }), CHILD);
    subagent.take(ended({ runId: 'r2', below }), CHILD);
    expect(subagent.end).toMatchObject({
      outcome: 'completed',
      findings: 'Seven.',
      usage: { inputTokens: 207, outputTokens: 23, costUsd: 1.25 },
      spawned: 2,
      label: 'words',
      startedAt: 1_010,
      endedAt: 1_050,
    });
    expect(subagent.end.error).toBeUndefined();
  });

  it('carries the last words that are no silence', () => {
    const subagent = running().take(ended({ open: 1 }), CHILD);
    expect(subagent.take(ended({ runId: 'r2', text: '' }), CHILD).end.findings).toBe('Seven.');
  });

  it('is cut in its middle when it is long, and says so', () => {
    const { end } = running().take(ended({ text: `a${'b'.repeat(20_000)}c` }), CHILD);
    expect(end.findings.length).toBeLessThanOrEqual(8_192);
    expect(end.findings).toMatch(
      /^ab+\n\[… \d+ characters are left out here …\]\nb+c\n\[whole in the transcript of agent:main:subagent:s1\]$/,
    );
    expect(end.task).toHaveLength(120);
  });

  it('is ignored from another session, or when only a message has joined a run', () => {
    const subagent = running();
    const make = (event: RunEnded, from: string) => () => subagent.take({ ...event }, from);
    expect(make(ended({}), OTHER)).toThrow(/ignored/);
    expect(make(ended({ joined: 'r7' }), CHILD)).toThrow(/ignored/);
  });

  it('is sent to the session that has adopted the subagent, and shown there', () => {
    const subagent = running().take({ type: 'subagent.move', parent: OTHER }, PARENT);
    expect(
      requestsOf<Project>(subagent.requests, 'project').map(({ key, value }) => [key, !!value]),
    ).toEqual([
      [`${PARENT}|${ID}`, false],
      [`${OTHER}|${ID}`, true],
    ]);
    subagent.take(ended({}), CHILD);
    expect(subagent.tells.map(({ to }) => to)).toEqual([sessionOf(OTHER)]);
    const [{ event }] = requestsOf<Publish>(subagent.requests, 'publish') as [Publish];
    expect(event as unknown as RunEvent).toMatchObject({ sessionKey: OTHER, phase: 'end' });
  });

  it('stops all that a failed run leaves behind', () => {
    const { tells, row } = running().take(
      ended({ status: 'error', error: { code: 'INTERNAL', message: 'broken' }, open: 2 }),
      CHILD,
    );
    expect(tells.map(({ event }) => event)).toEqual([
      { type: 'session.abort' },
      { type: 'session.kill', reason: 'broken' },
    ]);
    expect(row).toMatchObject({ status: 'running', reason: 'broken', until: 1_010 + 600_000 });
  });

  it('is sent again a minute later to a parent without room', () => {
    const subagent = running().take(ended({}), CHILD);
    const error = { code: 'UNAVAILABLE', message: 'too many wait' };
    subagent.take({ type: 'refused', to: 'x', message: 'subagent.ended', error });
    expect(subagent.tells).toEqual([]);
    expect(subagent.wait().end).toMatchObject({ outcome: 'completed', findings: 'Seven.' });
    expect(subagent.end.again).toBeUndefined();
    subagent.take({ type: 'subagent.heard', how: 'collect' }, PARENT);
    expect(subagent.row.reported).toBe('collect');
  });

  it('is sent a second time, and no third, to a new parent that does not know it', () => {
    const subagent = running().take({ type: 'subagent.move', parent: OTHER }, PARENT);
    subagent.take(ended({}), CHILD).take({ type: 'subagent.heard', how: 'unknown' }, OTHER);
    expect(subagent.state).toEqual({ reporting: 'pausing' });
    expect(subagent.wait().tells.map(({ to }) => to)).toEqual([sessionOf(OTHER)]);
    subagent.take({ type: 'subagent.heard', how: 'unknown' }, OTHER);
    expect(subagent.row.reported).toBe('unknown');
  });

  it('leaves its session readable for a while, then its row, and then nothing', () => {
    const subagent = running().take(ended({}), CHILD);
    subagent.take({ type: 'subagent.heard', how: 'steer' }, PARENT);
    expect(subagent.wait().tells).toMatchObject([
      { to: sessionOf(CHILD), event: { type: 'session.close' } },
    ]);
    expect(subagent.state).toEqual({ reported: 'remembered' });
    expect(subagent.wait().row).toBeNull();
    expect(subagent.state).toBe('removed');
  });
});
