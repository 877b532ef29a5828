/** The events that a remote call can receive, and the invariants that hold on every path. */
import { remoteCallMachine } from '../../../actors/remote-call/machine.ts';
import type { CallContext } from '../../../actors/remote-call/types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import {
  type RemoteCall,
  remoteCallAddress,
  type RemoteCallRow,
} from '../../../protocols/remote-call.ts';
import type { Project, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const call: RemoteCall = {
  kind: 'mcp',
  server: 'files',
  name: 'read',
  input: { path: 'a' },
  class: 'keyed',
  timeoutMs: 60_000,
  caller: { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' },
};

const ENDS: readonly unknown[] = ['done', 'failed', 'cancelled', 'unknown'];

/** What was answered, and what the program was asked. */
class Seen {
  asked = 0;
  /** answers to starts; all are the same */
  answered = 0;
  answer: string | undefined;
  row: RemoteCallRow | null = null;
  /** a request of class `once` that may have been made */
  mayBeMade = false;
  wasStarting = false;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ name, step }: Happened): void {
    const context = step.live.snapshot.context as CallContext;
    const jobs = Object.keys(step.live.jobs);
    demand(jobs.length, 'one request at a time').toBeLessThanOrEqual(1);
    if (name.startsWith('start ')) this.asked += 1;
    const isStarting = jobs.includes('startOnce');
    if (isStarting && !this.wasStarting) demand(this.mayBeMade, 'called twice').toBe(false);
    this.wasStarting = isStarting;
    if (isStarting) this.mayBeMade = true;
    if (name === 'startOnce: away') this.mayBeMade = false;
    if (jobs.includes('follow') || jobs.includes('cancel')) demand(context.task).not.toBeNull();
    for (const { value } of requestsOf<Project>(step.requests, 'project')) {
      this.row = value as RemoteCallRow | null;
      if (this.row && ENDS.includes(this.row.state)) demand(this.row.endedAt).toBeDefined();
    }
    for (const { result, error } of requestsOf<Reply>(step.requests, 'reply')) {
      if (result === null) continue;
      const answer = JSON.stringify({ result, error });
      this.answer ??= answer;
      demand(answer, 'another answer').toBe(this.answer);
      this.answered += 1;
    }
    if (context.ending) demand(this.answered, 'everyone is answered').toBe(this.asked);
  }
}

const ERRORS: Readonly<Record<string, ErrorData>> = {
  away: { code: 'UNAVAILABLE', message: 'away' },
  wrong: { code: 'INVALID_ARGUMENT', message: 'wrong' },
  broken: { code: 'INTERNAL', message: 'broken' },
  gone: { code: 'NOT_FOUND', message: 'gone' },
};
const failures = (job: string): Move[] =>
  Object.entries(ERRORS).map(([name, error]) => ({ name: `${job}: ${name}`, job, error }));
const running = { kind: 'running', handle: { id: 1 }, pollMs: 50, status: 'half' };
const done = { kind: 'done', result: { text: 'yes' } };

export const exploration: Exploration = {
  machine: remoteCallMachine,
  self: remoteCallAddress('default', 'one'),
  moves: ({ snapshot }, _now, ledger) => {
    const isOver = snapshot.status === 'done';
    // A call is repeated as it was.
    const { call: started } = snapshot.context as CallContext;
    const starts = (['keyed', 'once'] as const)
      .filter((one) => started === null || started.class === one)
      .map((one) => ({
        name: `start ${one}`,
        event: { type: 'remote-call.start', call: { ...call, class: one } },
      }));
    return [
      ...(isOver || (ledger as Seen).asked >= 3 ? [] : starts),
      { name: 'cancel', event: { type: 'remote-call.cancel' } },
      ...['start', 'startOnce', 'follow'].flatMap((job): Move[] => [
        { name: `${job}: task`, job, output: running },
        { name: `${job}: done`, job, output: done },
        ...failures(job),
      ]),
      { name: 'startOnce: lost', job: 'startOnce', output: { kind: 'lost', why: 'killed' } },
      { name: 'cancelled', job: 'cancel', output: null },
      ...failures('cancel'),
    ];
  },
  key: ({ snapshot, jobs }) => {
    const {
      ending,
      task,
      waiters,
      failures: failed,
      call: started,
    } = snapshot.context as CallContext;
    return [
      snapshot.value,
      snapshot.status,
      Object.keys(jobs),
      ending?.state,
      task !== null,
      waiters.length,
      failed,
      started?.class,
    ];
  },
  ledger: () => new Seen(),
};
