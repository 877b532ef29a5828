/** The events that a subagent can receive, and the invariants that hold on every path. */
import { subagentMachine } from '../../../actors/subagent/machine.ts';
import type { SubagentContext } from '../../../actors/subagent/types.ts';
import { address } from '../../../protocols/address.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { RunEnded, RunEvent, SessionReceive } from '../../../protocols/session.ts';
import type { Project, Publish, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  type SubagentEnded,
  type SubagentOutcome,
  type SubagentReserve,
  type SubagentRow,
  subagentAddress,
  type SubagentTerms,
} from '../../../protocols/subagent.ts';
import { timerName } from '../../../runtime/statechart/facts.ts';
import {
  type StepRequest,
  fired,
  isDone,
  type Live,
  step,
} from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const ID = 's1';
export const PARENT = 'agent:main:main';
export const OTHER = 'agent:other:main';
export const CHILD = `agent:main:subagent:${ID}`;
export const self = subagentAddress('default', ID);
export const sessionOf = (key: string) => address('default', 'session', key);

export const terms: SubagentTerms = {
  agentId: 'main',
  admitBy: 'main',
  sandbox: { mode: 'always', workspaceAccess: 'none', allow: [], deny: [] },
  turnsMax: 10,
  timeoutMs: 600_000,
  tokens: 50_000,
  isolated: true,
  keepMs: 86_400_000,
  parent: PARENT,
  root: PARENT,
  depth: 2,
  spawns: 0,
};

/** The messages and rows of a subagent. */
class World {
  /** by parent, the ends that it has accepted */
  ends: readonly string[] = [];
  outcome: SubagentOutcome | undefined;
  tasks = 0;
  starts = 0;
  endEvents = 0;
  rows: ReadonlyMap<string, SubagentRow> = new Map();

  copy(): World {
    return Object.assign(new World(), this);
  }

  take({ name, cause, meta, step: { requests, live, outcome } }: Happened): void {
    const { event } = cause;
    this.record(requests);
    if (isGivenBack(name)) this.ends = this.ends.slice(0, -1);
    const replies = requestsOf<Reply>(requests, 'reply').filter(({ to }) => to?.id === meta.id);
    demand(replies.length).toBeLessThanOrEqual(1);
    const isAsked = event.type === 'subagent.kill' || event.type === 'subagent.steer';
    if (isAsked && outcome !== 'ignored')
      demand(replies, `${event.type} is answered`).toHaveLength(1);
    this.checkRows(live);
    comesToItsReport(live, meta.now, this);
  }

  record(requests: readonly StepRequest[]): void {
    for (const { to, event } of requestsOf<Tell>(requests, 'tell')) this.checkMessage(to, event);
    for (const { event } of requestsOf<Publish>(requests, 'publish'))
      this.checkPublished(event as never);
    for (const { key, value } of requestsOf<Project>(requests, 'project')) {
      const rows = new Map(this.rows);
      if (value === null) rows.delete(key);
      else rows.set(key, value as SubagentRow);
      this.rows = rows;
    }
  }

  checkMessage(to: string, event: Tell['event']): void {
    if (event.type === 'session.receive') {
      demand(to).toBe(sessionOf(CHILD));
      const { origin } = event as unknown as SessionReceive;
      if (origin?.kind === 'task') demand(++this.tasks, 'the task is sent once').toBe(1);
    }
    if (event.type !== 'subagent.ended') return;
    const { again, outcome } = event as unknown as SubagentEnded;
    this.outcome ??= outcome;
    demand(outcome, 'the outcome never changes').toBe(this.outcome);
    if (again) return;
    demand(this.ends, 'each parent receives one end').not.toContain(to);
    this.ends = [...this.ends, to];
  }

  checkPublished(event: RunEvent): void {
    if (event.stream !== 'subagent') return;
    if (event.phase === 'start') demand(++this.starts).toBe(1);
    else demand(++this.endEvents, 'one end event').toBe(1);
    if (event.phase === 'start') demand(this.endEvents, 'no start after the end').toBe(0);
  }

  checkRows(live: Live): void {
    const { shownUnder } = live.snapshot.context as SubagentContext;
    demand(this.rows.size, 'the subagent has at most one row').toBeLessThanOrEqual(1);
    if (live.snapshot.matches('unknown') || isDone(live)) {
      demand(this.rows.size).toBe(0);
      return;
    }
    const row = this.rows.get(`${shownUnder}|${ID}`);
    demand(row, 'the row of its last parent').toBeDefined();
    const hasEnded = live.snapshot.matches('reporting') || live.snapshot.matches('reported');
    demand(row!.endedAt !== undefined, 'the row shows whether the subagent has ended').toBe(
      hasEnded,
    );
    demand(row!.until === undefined).toBe(hasEnded);
    if (live.snapshot.matches('reported')) demand(row!.reported).toBeDefined();
  }
}

/** After these events no parent has accepted the last reported end. */
const isGivenBack = (name: string): boolean =>
  name === 'the parent has no room' || name === 'the new parent does not know it';

const proven = new Set<string>();

/** From here on there are no answers; only timers fire. */
function comesToItsReport(from: Live, at: number, world: World): void {
  if (from.snapshot.matches('unknown')) return;
  const { starts, endEvents, ends, tasks } = world;
  const situation = JSON.stringify([exploration.key(from), starts, endEvents, ends, tasks]);
  if (proven.has(situation)) return;
  proven.add(situation);
  const seen = world.copy();
  const passed = new Set<string>();
  let live = from;
  let now = at;
  for (let round = 0; !isDone(live); round++) {
    demand(round, `the subagent never ends after ${[...passed].join(', ')}`).toBeLessThan(20);
    const armed = Object.entries(live.timers).filter(([, timer]) => !timer.fired);
    demand(armed.length, `${JSON.stringify(live.snapshot.value)} has an end by time`).not.toBe(0);
    const [id, { due, key }] = armed.toSorted(([, a], [, b]) => a.due - b.due)[0]!;
    now = Math.max(now, due);
    const next = step(subagentMachine, live, fired(live, id, key, { id, now, self }), now);
    const timer = timerName(subagentMachine, id);
    demand(next.outcome, timer).not.toBe('failed');
    passed.add(String(timer));
    seen.record(next.requests);
    live = next.live;
    if (live.snapshot.matches('reported')) passed.add('reported');
  }
  if (from.snapshot.matches('reported') || isDone(from)) return;
  demand(passed).toContain('reported');
  demand(seen.endEvents).toBe(1);
}

const reserve = (name: string, more: Partial<SubagentReserve> = {}): Move => ({
  name,
  event: {
    type: 'subagent.reserve',
    parentRunId: 'r1',
    task: 'Count the words.',
    terms,
    lineage: { hops: 1, visited: [PARENT], left: 10 },
    reportBack: true,
    hold: false,
    ...more,
  },
  from: sessionOf(PARENT),
  tell: true,
});

const usage = { inputTokens: 100, outputTokens: 10, costUsd: 0.01 };
const ended = (name: string, more: Partial<RunEnded> = {}, from = CHILD): Move => {
  const event: RunEnded = {
    type: 'run.ended',
    runId: `sub-${ID}`,
    sessionKey: CHILD,
    status: 'ok',
    text: 'Seven.',
    usage,
    startedAt: 1_000,
    endedAt: 1_001,
    open: 0,
    below: { usage: { inputTokens: 0, outputTokens: 0 }, spawned: 0 },
    ...more,
  };
  return { name, event, from: sessionOf(from), tell: true };
};
const below = { usage, spawned: 2 };

const away: ErrorData = { code: 'UNAVAILABLE', message: 'away' };
const gone: ErrorData = { code: 'NOT_FOUND', message: 'there is no such actor' };
const refused = (name: string, message: string, error: ErrorData): Move => ({
  name,
  event: { type: 'refused', to: 'x', message, error },
  tell: true,
});
const heard = (name: string, how: string, from: string): Move => ({
  name,
  event: { type: 'subagent.heard', how },
  from: sessionOf(from),
  tell: true,
});
const move = (name: string, parent: string | null): Move => ({
  name,
  event: { type: 'subagent.move', parent },
  from: sessionOf(PARENT),
  tell: true,
});

const always: readonly Move[] = [
  reserve('reserve', { label: 'words' }),
  reserve('reserve and hold', { hold: true }),
  { name: 'go', event: { type: 'subagent.go' }, from: sessionOf(PARENT), tell: true },
  { name: 'accepted', event: { type: 'reply', to: 'x', result: {} }, tell: true },
  { name: 'not accepted', event: { type: 'reply', to: 'x', error: gone }, tell: true },
  refused('the session refuses the task', 'session.receive', gone),
  refused('the session refuses the abort', 'session.abort', gone),
  ended('it answers'),
  ended('it answers with others open', { open: 1, below, runId: 'r2' }),
  ended('it fails', { status: 'error', error: away }),
  ended('it fails with others open', { status: 'error', error: away, open: 2, text: '' }),
  ended('its run is late', { status: 'timeout' }),
  ended('its run is late with others open', { status: 'timeout', open: 1 }),
  ended('it is aborted', { status: 'aborted' }),
  ended('a message joined', { joined: 'r9' }),
  ended('another session has an end', {}, OTHER),
  { name: 'kill', event: { type: 'subagent.kill', reason: 'not needed' } },
  { name: 'steer', event: { type: 'subagent.steer', text: 'faster' } },
  { name: 'steer with nothing', event: { type: 'subagent.steer', text: ' ' } },
  { name: 'report', event: { type: 'subagent.report' }, from: sessionOf(PARENT), tell: true },
  { name: 'report to a stranger', event: { type: 'subagent.report' } },
  heard('the parent accepts the report', 'followup', PARENT),
  heard('the other parent accepts the report', 'steer', OTHER),
  heard('the parent does not know it', 'unknown', PARENT),
  move('another session adopts it', OTHER),
  move('no session adopts it', null),
  refused('the parent is gone', 'subagent.ended', gone),
];

/** Events that only matter while an end is being reported. */
const whenTelling: readonly Move[] = [
  refused('the parent has no room', 'subagent.ended', away),
  heard('the new parent does not know it', 'unknown', OTHER),
];

const movesAt = ({ snapshot }: Live): readonly Move[] => {
  if (!snapshot.matches({ reporting: 'telling' })) return always;
  const { parent, isNewHere } = snapshot.context as SubagentContext;
  const [full, early] = whenTelling as [Move, Move];
  return [...always, full, ...(parent === OTHER && isNewHere ? [early] : [])];
};

export const exploration: Exploration = {
  machine: subagentMachine,
  self,
  moves: movesAt,
  key: ({ snapshot }) => {
    const { parent, shownUnder, isAccepted, isNewHere, stop, outcome, startedAt, reportedBy } =
      snapshot.context as SubagentContext;
    return [
      snapshot.value,
      snapshot.status,
      parent,
      shownUnder,
      isAccepted,
      isNewHere,
      stop?.outcome,
      outcome,
      startedAt === null,
      reportedBy,
    ];
  },
  ledger: () => new World(),
};
