/** The events that a push configuration can receive, and the invariants that hold on every path. */
import { pushMachine } from '../../../actors/push/machine.ts';
import type { PushContext } from '../../../actors/push/types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { pushAddress, pushKey, type PushRow } from '../../../protocols/push.ts';
import type { DeadLetterAsk, Message, Project } from '../../../protocols/statechart.ts';
import { taskAddress, type TaskState } from '../../../protocols/task.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const task = taskAddress('t', '1');
const contextOf = (live: Live) => live.snapshot.context as PushContext;

/** The delivered notices, and the row. */
class Seen {
  row: PushRow | null = null;
  delivered = 0;
  dead = 0;
  owner: string | undefined;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ name, step }: Happened): void {
    const { live, requests } = step;
    const { queue, config } = contextOf(live);
    if (name === 'delivered') this.delivered++;
    const owner = config?.principal;
    if (this.owner && owner && live.snapshot.status !== 'done')
      demand(owner, 'replaced by another').toBe(this.owner);
    this.owner = owner;
    for (const { value } of requestsOf<Project>(requests, 'project'))
      this.row = value as PushRow | null;
    this.dead += requestsOf<DeadLetterAsk>(requests, 'deadLetter').length;
    if (live.jobs['post'])
      demand(queue.length, 'what is posted is still queued').toBeGreaterThan(0);
    demand(
      queue.map(({ n }) => n),
      'notices keep their order',
    ).toEqual(queue.map(({ n }) => n).toSorted((a, b) => a - b));
    if (live.snapshot.status === 'done') demand(this.row).toBeNull();
    else if (config) demand(JSON.stringify(this.row ?? {})).not.toContain('jwe');
    if (this.row?.state === 'finished') demand(queue).toEqual([]);
    if (this.row?.state === 'disabled') demand(this.dead).toBeGreaterThan(0);
  }
}

const changed = (state: TaskState): Message => ({
  type: 'task.changed',
  task: { task_id: '1', state, events: [] },
});
const config = { task_id: '1', config_id: 'c', url: 'https://r.example/', principal: 'ann' };
const secret = { schema_version: '1.0', jwe: 'sealed' };
const errorOf = (code: ErrorData['code']): ErrorData => ({ code, message: 'not accepted' });

const ann = { sub: 'ann', roles: [] };
const bob = { sub: 'bob', roles: [] };

const MOVES: readonly Move[] = [
  { name: 'configure', event: { type: 'push.configure', config, secret }, principal: ann },
  { name: 'configure, no secret', event: { type: 'push.configure', config }, principal: ann },
  {
    name: 'configure, another url',
    event: { type: 'push.configure', config: { ...config, url: 'https://s.example/' } },
    principal: ann,
  },
  {
    name: 'configure, by another',
    event: { type: 'push.configure', config: { ...config, principal: 'bob' } },
    principal: bob,
  },
  { name: 'remove', event: { type: 'push.remove' }, principal: ann },
  { name: 'remove, by another', event: { type: 'push.remove' }, principal: bob },
  { name: 'redrive', event: { type: 'push.retry' } },
  { name: 'waits', event: changed('RUNNING'), from: task, tell: true },
  { name: 'ends', event: changed('SUCCEEDED'), from: task, tell: true },
  { name: 'away', job: 'post', error: errorOf('UNAVAILABLE') },
  { name: 'private', job: 'post', error: errorOf('FORBIDDEN') },
];

export const exploration: Exploration = {
  machine: pushMachine,
  self: pushAddress('t', pushKey('1', 'c')),
  moves: (live) => {
    const n = contextOf(live).queue[0]?.n;
    const delivered = { name: 'delivered', job: 'post', output: n };
    return [...MOVES, ...(n === undefined ? [] : [delivered])];
  },
  key: (live) => {
    const { queue, isOver, failures } = contextOf(live);
    const { snapshot } = live;
    const states = queue.slice(0, 2).map(({ view }) => view.state);
    return [snapshot.value, snapshot.status, states, isOver, failures > 0];
  },
  ledger: () => new Seen(),
};
