/** The events that a task can receive, and the invariants that hold on every path. */
import { taskMachine } from '../../../actors/task/machine.ts';
import type { Outcome, TaskContext } from '../../../actors/task/types.ts';
import { WAITERS_MAX } from '../../../actors/task/work.ts';
import { address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Message, Project, Publish, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  isFinal,
  taskAddress,
  type TaskEvent,
  type TaskRow,
  type TaskSubmit,
  type TaskTerms,
  type TaskView,
} from '../../../protocols/task.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';
import { envelopeOf, performer, submitOf, termsOf } from './submits.ts';

export const self = taskAddress('t', '1');
const watcher = address('t', 'push', 'w');
export const contextOf = (live: Live) => live.snapshot.context as TaskContext;

/** A record of one task: its row, its events, and its callers without an answer. */
class Account implements Ledger {
  row: TaskRow | null;
  publishedMax: number;
  readonly owed: Set<string>;
  isOver: boolean;

  constructor(from?: Account) {
    this.isOver = from?.isOver ?? false;
    this.row = from?.row ?? null;
    this.publishedMax = from?.publishedMax ?? 0;
    this.owed = new Set(from?.owed);
  }

  copy(): Ledger {
    return new Account(this);
  }

  take({ cause, meta, step: { requests, live, outcome } }: Happened): void {
    const { view } = contextOf(live);
    this.#checkPublished(requestsOf<Publish>(requests, 'publish'), view);
    const before = this.row;
    for (const { index, key, value } of requestsOf<Project>(requests, 'project')) {
      if (index === 'tasks') this.row = value as TaskRow | null;
      else if (index === 'agent2agent_tasks') demand(key).toMatch(/\.1$/);
      else demand(key).toBe('job-1|1');
    }
    this.#checkRow(before, live);
    if (meta.reply && outcome !== 'ignored') this.owed.add(meta.reply.id);
    for (const reply of requestsOf<Reply>(requests, 'reply')) this.#settle(reply, view);
    if (live.snapshot.status === 'done' || (view && isFinal(view.state))) {
      demand([...this.owed], 'callers without an answer').toEqual([]);
      demand(contextOf(live).work).toBeNull();
    }
    this.#checkWatcher(requestsOf<Tell>(requests, 'tell'), live);
    for (const { to, event, principal } of requestsOf<Tell>(requests, 'tell')) {
      if (to === watcher) continue;
      demand(to).toBe(performer);
      demand(principal).toEqual(envelopeOf().principal);
      demand(event['task_id']).toBe('1');
    }
    if (cause.event.type === 'xstate.init') demand(requests).toEqual([]);
  }

  /** A watcher receives the task as it is, and its end in the turn of the end. */
  #checkWatcher(tells: readonly Tell[], live: Live): void {
    const { view, watchers = [] } = contextOf(live);
    const received = tells.filter(({ to }) => to === watcher);
    for (const { event } of received) {
      demand(event.type).toBe('task.changed');
      demand((event['task'] as TaskView).events).toEqual(view!.events);
    }
    if (watchers.length === 0) demand(received).toEqual([]);
    const isOver = view !== null && isFinal(view.state);
    if (isOver && !this.isOver && watchers.length > 0) demand(received).toHaveLength(1);
    this.isOver = isOver;
  }

  /** The newest event of each turn that has some; they are numbered from 1 without gaps. */
  #checkPublished(publishes: readonly Publish[], view: TaskView | null): void {
    demand(publishes).toHaveLength((view?.events.length ?? 0) > this.publishedMax ? 1 : 0);
    for (const { topic, event } of publishes) {
      const { n, event_id, task } = event as unknown as TaskEvent;
      demand(n).toBeGreaterThan(this.publishedMax);
      this.publishedMax = n;
      demand(topic).toBe('task.t.1');
      demand(event_id).toBe(`1.${n}`);
      demand(task.events).toHaveLength(n);
      demand(task.state).toBe(task.events.at(-1)!.state);
    }
    if (view) demand(view.events.map(({ n }) => n)).toEqual(view.events.map((_, at) => at + 1));
    demand(view?.events.length ?? 0).toBe(this.publishedMax);
  }

  /** A final view never changes; the row is the view. */
  #checkRow(before: TaskRow | null, live: Live): void {
    const { view } = contextOf(live);
    const forgotten = live.snapshot.status === 'done';
    demand(this.row?.view ?? null).toEqual(forgotten ? null : view);
    if (before && isFinal(before.view.state) && this.row) demand(this.row).toEqual(before);
  }

  #settle({ to, result, error }: Reply, view: TaskView | null): void {
    if (to)
      demand(this.owed.delete(to.id), `${to.id}, which receives an answer, waits for one`).toBe(
        true,
      );
    if (!error && result !== null) demand((result as TaskView).events).toEqual(view?.events);
  }
}

// ---- events

const failure = (code: ErrorData['code'], details?: Record<string, unknown>): ErrorData => ({
  code,
  message: 'it said so',
  ...defined({ details }),
});

const job = {
  job_id: 'job-1',
  verified: true,
  artifact_uri: 'http://127.0.0.1/a',
  artifact_hash: 'ab',
  content_type: 'text/plain',
  evidence_ts: '2026-01-01T00:00:00Z',
  source_kind: 'document',
};

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  done: { kind: 'done', result: { ok: true } },
  'done with links': { kind: 'done', result: null, resourceLinks: [{ uri: 'urn:x' }] },
  evidence: { kind: 'done', result: job, evidence: job },
  'wants input': { kind: 'input', for: 'input', prompt: 'which one?', schema: { type: 'string' } },
  lost: { kind: 'lost', why: 'the worker was lost' },
  'came too late': { kind: 'expired' },
  'failed permanently': { kind: 'failed', error: failure('INTERNAL'), final: true },
};

const ERRORS: Readonly<Record<string, ErrorData>> = {
  'fails for now': failure('UNAVAILABLE'),
  'is refused': failure('FORBIDDEN'),
  'undid itself': failure('INTERNAL', { compensated: true }),
};

const jobMoves = (name: string): Move[] => [
  ...Object.entries(OUTCOMES).map(([what, output]) => ({ name: what, job: name, output })),
  ...Object.entries(ERRORS).map(([what, error]) => ({ name: what, job: name, error })),
];

const once: Partial<TaskTerms> = { performer: { kind: 'function', class: 'once' } };
const actor: Partial<TaskTerms> = { performer: { kind: 'actor', to: performer } };
const stopping: Partial<TaskTerms> = {
  performer: { kind: 'actor', to: performer, withdraws: true },
};
const compensable: Partial<TaskTerms> = { compensable: true };
const outside: Partial<TaskTerms> = { performer: { kind: 'remote' }, compensable: true };

const FIRST: Readonly<Record<string, Partial<TaskSubmit>>> = {
  submit: {},
  'submit and wait': { answer: 'done' },
  'submit once': { terms: termsOf(once) },
  'submit for an actor': { terms: termsOf(actor) },
  'submit for an actor that withdraws': { terms: termsOf(stopping) },
  'submit compensable': { terms: termsOf(compensable) },
  'submit for an agent outside': { terms: termsOf(outside) },
  'submit evidence': { terms: termsOf({ evidence: true }) },
  'submit stale': { stale: 7 },
  'submit of an A2A client': { agentId: 'main' },
  'submit too late': { envelope: envelopeOf({ timestamp: '1960-01-01T00:00:00Z' }) },
  'submit in a leap second': { envelope: envelopeOf({ timestamp: '2016-12-31T23:59:60Z' }) },
  'submit again by hand': {
    envelope: envelopeOf({ timestamp: '1960-01-01T00:00:00Z' }),
    redriveOf: '0',
  },
};

const SMITH = { agent_id: 'smith', url: 'https://smith.example' };

const firstMoves = (): Move[] =>
  Object.entries(FIRST).map(([name, change]) => ({ name, event: submitOf(change) }));

const replyOf = (name: string, answer: object, from = performer): Move => {
  const event: Message = { type: 'reply', to: 'm1', ...answer };
  return { name, event, from, tell: true };
};

const DECISIONS = ['again', 'done', 'failed', 'accept'] as const;

const laterMoves = (): Move[] => [
  { name: 'repeat', event: submitOf() },
  { name: 'repeat and wait', event: submitOf({ answer: 'done' }) },
  { name: 'repeat with other payload', event: submitOf({ payloadHash: 'h2' }) },
  { name: 'smith is chosen', job: 'choose', output: SMITH },
  { name: 'no agent can be chosen', job: 'choose', error: failure('UNAVAILABLE') },
  ...['perform', 'performOnce', 'check'].flatMap(jobMoves),
  { name: 'undone', job: 'compensate', output: null },
  { name: 'cannot be undone now', job: 'compensate', error: failure('UNAVAILABLE') },
  { name: 'cannot be undone', job: 'compensate', error: failure('NOT_FOUND') },
  replyOf('actor done', { result: { ok: true } }),
  replyOf('actor failed', { error: failure('UNAVAILABLE') }),
  replyOf('actor stopped', { error: failure('CANCELLED') }),
  replyOf('actor undid it', { error: failure('CANCELLED', { compensated: true }) }),
  replyOf('a stranger answers', { result: 1 }, taskAddress('t', 'other')),
];

const movesOf = (live: Live): Move[] => [
  ...(contextOf(live).view ? laterMoves() : firstMoves()),
  { name: 'cancel', event: { type: 'task.cancel', reason: 'no more' } },
  { name: 'cancel in silence', event: { type: 'task.cancel' }, tell: true },
  { name: 'input', event: { type: 'task.input', input: 'this one' } },
  { name: 'watch', event: { type: 'task.watch', watcher }, from: watcher, tell: true },
  { name: 'reserve', event: { type: 'task.reserve_watcher', watcher } },
  { name: 'unwatch', event: { type: 'task.unwatch', watcher }, from: watcher, tell: true },
  { name: 'unwatch another', event: { type: 'task.unwatch', watcher }, tell: true },
  { name: 'watch for another', event: { type: 'task.watch', watcher }, tell: true },
  ...DECISIONS.map((decision) => ({
    name: `decide ${decision}`,
    event: { type: 'task.decide', decision, why: 'I looked', result: { seen: true } },
  })),
];

export const exploration: Exploration = {
  machine: taskMachine,
  self,
  ledger: () => new Account(),
  moves: (live) => (live.snapshot.status === 'active' ? movesOf(live) : []),
  key: (live) => {
    const { work, view, waiters, cancellers, watchers } = contextOf(live);
    return [
      live.snapshot.value,
      live.snapshot.status,
      view?.state,
      waiters.length >= WAITERS_MAX,
      cancellers.length >= WAITERS_MAX,
      work?.terms.performer,
      work?.terms.compensable,
      Math.min(work?.failures ?? 0, 3),
      work?.ending?.outcome,
      work?.ending?.untouched,
      work?.asked,
      work?.agents,
      (view?.attempt ?? 0) > 1,
      watchers !== undefined,
    ];
  },
  scripts: [
    ['submit', ...Array<string>(WAITERS_MAX + 1).fill('repeat and wait')],
    ['submit compensable', ...Array<string>(WAITERS_MAX + 2).fill('cancel')],
    ['submit for an actor that withdraws', ...Array<string>(WAITERS_MAX + 2).fill('cancel')],
  ],
};
