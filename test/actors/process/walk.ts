/** The events that a process can receive, and the invariants that hold on every path. */
import { processMachine } from '../../../actors/process/machine.ts';
import type { Outline, Planned, PlanInput, ProcessContext } from '../../../actors/process/types.ts';
import { address, type Address } from '../../../protocols/address.ts';
import { approvalAddress } from '../../../protocols/approval.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { processAddress, type ProcessRow } from '../../../protocols/process.ts';
import type { Message, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import { taskAddress, type TaskState } from '../../../protocols/task.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = processAddress('default', 'p1');
const task = taskAddress('default', 'p1');
const contextOf = (live: Live) => live.snapshot.context as ProcessContext;

/** Two steps: the first with all features, the second without verification and compensation. */
export const outline: readonly Outline[] = [
  { name: 'write', verify: true, undo: true, verifyUndo: true },
  { name: 'tell', verify: false, undo: true, verifyUndo: false },
  { name: 'close', verify: false, undo: false, verifyUndo: false },
];

/** The result of the plan effect, which the machine only passes on. */
const planned = ({ at, phase, round }: PlanInput): Planned => {
  const taskId = `${outline[at]!.name}.${phase}.${round}`;
  return {
    outline,
    taskId,
    to: taskAddress('default', taskId),
    submit: { type: 'task.submit' } as Planned['submit'],
  };
};

type Does = 'done' | 'undone' | 'left';

/**
 * A task that was refused at its first attempt did nothing. The outcome of any other one is
 * unknown.
 */
const isSurelyUndone = (event: Message): boolean => {
  const { state, error } = (event['result'] ?? {}) as { state?: TaskState; error?: ErrorData };
  return state === 'FAILED' && error?.code === 'FORBIDDEN';
};

/**
 * A step is undone if its compensation succeeded and, where it is verified, the check confirmed it.
 */
const isProof = (name: string, phase: string | undefined, event: Message): boolean => {
  const { result } = (event['result'] ?? {}) as { result?: { verified?: boolean } };
  const isVerified = outline.find((step) => step.name === name)?.verifyUndo === true;
  return isVerified ? phase === 'verifyUndo' && result?.verified === true : phase === 'undo';
};

/** An independent record of what was done and undone, by the answers of the tasks. */
class WorkRecord {
  /** by step, the result of its task */
  did: ReadonlyMap<string, Does> = new Map();
  /** requested tasks, each once */
  asked: ReadonlySet<string> = new Set();
  row: ProcessRow | null = null;
  end: string | undefined;
  lastTask = '';
  /** the step that waits for the decision of an operator */
  questioned = '';
  /** the task that answered last; its later answers are ignored */
  answered = '';

  copy(): WorkRecord {
    return Object.assign(new WorkRecord(), this);
  }

  take(happened: Happened): void {
    const { cause, meta, step } = happened;
    const before = this.lastTask;
    for (const { to, event, ask } of requestsOf<Tell>(step.requests, 'tell')) {
      if (event.type === 'task.cancel') {
        demand(to, 'only the running task is cancelled').toBe(before);
        continue;
      }
      demand(ask).toBe(true);
      demand(this.asked.has(to), `${to} is asked once`).toBe(false);
      this.asked = new Set(this.asked).add(to);
      const [name = '', phase] = to.slice(to.lastIndexOf('/') + 1).split('.');
      if (phase === 'undo')
        demand(this.did.get(name), 'only steps that did something are undone').toBe('done');
      this.lastTask = to;
      if (event.type === 'approval.ask') this.questioned = outline[contextOf(step.live).at]!.name;
    }
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as ProcessRow;
    this.#recordAnswer(cause.event, meta.from, before);
    for (const reply of requestsOf<Reply>(step.requests, 'reply'))
      this.#lastWord(reply, contextOf(step.live));
  }

  /** Records what an accepted answer means. */
  #recordAnswer(event: Message, from: Address | undefined, awaited: string): void {
    if (event.type !== 'reply' || from !== awaited || from === this.answered) return;
    this.answered = from;
    const [name = '', phase] = awaited.slice(awaited.lastIndexOf('/') + 1).split('.');
    const { state, decision } = (event['result'] ?? {}) as { state?: TaskState; decision?: string };
    if (decision === 'skip') this.did = new Map(this.did).set(this.questioned, 'left');
    if (phase === 'act' && !isSurelyUndone(event)) this.did = new Map(this.did).set(name, 'done');
    if (state === 'SUCCEEDED' && isProof(name, phase, event))
      this.did = new Map(this.did).set(name, 'undone');
  }

  #lastWord({ to, result, error }: Reply, context: ProcessContext): void {
    if (!to) return;
    const word = JSON.stringify(result ?? error);
    this.end ??= word;
    demand(word, 'every caller receives the same end').toBe(this.end);
    demand(this.row?.state).toBe(context.state);
    if (result !== undefined) {
      demand([...this.did.values()]).toEqual(['done', 'done', 'done']);
      demand(context.steps.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      demand(context.steps[0]?.evidence?.verified).toBe(true);
      return;
    }
    this.#undone(error!, context);
  }

  /** Everything that was done is undone or reported. */
  #undone({ details }: ErrorData, { state }: ProcessContext): void {
    const named = new Set(details!['left'] as string[]);
    for (const [name, what] of this.did)
      if (what !== 'undone') demand(named, `${name} is named`).toContain(name);
    if (state === 'compensated')
      for (const { name, undo } of outline)
        if (undo && this.did.get(name)) demand(this.did.get(name)).not.toBe('done');
    if (details!['compensated']) demand(named.size).toBe(0);
  }
}

const error: ErrorData = { code: 'UNAVAILABLE', message: 'it is away' };
const order: Move = {
  name: 'order',
  event: { type: 'process.publish_document', schema_version: '1.0', task_id: 'p1' },
  from: task,
};
const cancel: Move = { name: 'cancel', event: { type: 'task.cancel' }, from: task, tell: true };
const stranger: Move = {
  name: 'a stranger',
  event: { type: 'process.publish_document', task_id: 'p2' },
  from: address('default', 'task', 'p2'),
};

const answers = (from: Address): Move[] => {
  const reply = (name: string, fields: Record<string, unknown>): Move => ({
    name,
    event: { type: 'reply', to: 'm', ...fields },
    from,
    tell: true,
  });
  const view = (state: TaskState, fields: object = {}) => ({
    result: { state, action: 'a.do_it', task_id: 't', attempt: 1, ...fields },
  });
  if (from.startsWith('default/approval/')) {
    const decision = (name: string) => ({ result: { state: 'allowed', decision: name } });
    return [
      ...['again', 'skip', 'abort'].map((name) => reply(name, decision(name))),
      reply('the task expires', { result: { state: 'expired' } }),
    ];
  }
  return [
    reply('success', view('SUCCEEDED', { result: { verified: true, n: 1 } })),
    reply('not found so', view('SUCCEEDED', { result: { verified: false, detail: 'no' } })),
    reply('failure', view('FAILED', { error: { code: 'UNAVAILABLE', message: 'away' } })),
    reply('refusal at once', view('FAILED', { error: { code: 'FORBIDDEN', message: 'no' } })),
    reply('cancelled', view('CANCELLED')),
    reply('no task', { error }),
  ];
};

const PHASES = { planAct: 'act', planVerify: 'verify', planUndo: 'undo' } as const;
const outcomes = ({ jobs, snapshot }: Live): Move[] =>
  Object.keys(jobs).flatMap((job): Move[] => {
    const fails: Move = { name: `${job} fails`, job, error };
    if (job === 'conclude') return [{ name: 'concluded', job, output: { result: 1 } }, fails];
    const phase = job in PHASES ? PHASES[job as keyof typeof PHASES] : 'verifyUndo';
    const { at, round } = snapshot.context as ProcessContext;
    const output = planned({
      at,
      phase,
      round: phase === 'undo' || phase === 'verifyUndo' ? round : 0,
    } as PlanInput);
    return [{ name: job, job, output }, fails];
  });

const late: Move = {
  name: 'an answer of an earlier task',
  event: { type: 'reply', to: 'm', result: { state: 'SUCCEEDED' } },
  from: approvalAddress('default', 'old'),
  tell: true,
};

export const exploration: Exploration = {
  machine: processMachine,
  self,
  moves: (live) => {
    const { awaiting } = contextOf(live);
    return [
      order,
      cancel,
      stranger,
      late,
      ...outcomes(live),
      ...(awaiting ? answers(awaiting) : []),
    ];
  },
  key: (live) => {
    const { at, round, questions, cancelled, steps, failure } = contextOf(live);
    return [
      live.snapshot.value,
      live.snapshot.status,
      Object.keys(live.jobs),
      at,
      Math.min(round, 1),
      Math.min(questions, 2),
      cancelled,
      failure && [failure.phase, failure.error.code],
      steps.map(({ state, touched, evidence }) => [state, touched, evidence?.verified]),
    ];
  },
  ledger: () => new WorkRecord(),
  situationsMax: 20_000,
};
