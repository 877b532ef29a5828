/**
 * The events that a message to an agent can receive, and the invariants that hold on every path.
 */
import { agentMessageMachine } from '../../../actors/agent-message/machine.ts';
import type { MessageContext } from '../../../actors/agent-message/types.ts';
import { address } from '../../../protocols/address.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Reply, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const task = address('default', 'task', 'T');
const SESSION = 'agent:main:api:ada:dm:trip';
const session = address('default', 'session', SESSION);
const away: ErrorData = { code: 'UNAVAILABLE', message: 'away' };

class Seen {
  asked = 0;
  replies = 0;
  sent = 0;
  aborts = 0;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ name, step }: Happened): void {
    const { end } = step.live.snapshot.context as MessageContext;
    if (name.startsWith('send')) this.asked += 1;
    for (const { to, event } of requestsOf<Tell>(step.requests, 'tell')) {
      demand(to).toBe(session);
      if (event.type === 'session.receive') this.sent += 1;
      else this.aborts += 1;
    }
    this.replies += requestsOf<Reply>(step.requests, 'reply').length;
    demand(this.sent, 'sent twice').toBeLessThanOrEqual(1);
    demand(this.aborts).toBeLessThanOrEqual(this.sent);
    if (end) demand(this.replies, 'the task has its answer').toBe(this.asked);
    else demand(this.replies).toBe(0);
  }
}

const ended = (name: string, fields: object, runId = 'task-T'): Move => ({
  name,
  from: session,
  tell: true,
  event: {
    type: 'run.ended',
    runId,
    sessionKey: SESSION,
    status: 'ok',
    text: 'Hanoi',
    usage: { inputTokens: 1, outputTokens: 2 },
    startedAt: 1,
    endedAt: 2,
    open: 0,
    below: { usage: { inputTokens: 0, outputTokens: 0 }, spawned: 0 },
    ...fields,
  },
});
const received = (name: string, fields: object, from = session): Move => ({
  name,
  from,
  tell: true,
  event: { type: 'reply', to: 'x', ...fields },
});

export const exploration: Exploration = {
  machine: agentMessageMachine,
  self: address('default', 'agent-message', 'T'),
  moves: ({ snapshot }, _now, ledger) => {
    const isNew = (ledger as Seen).asked === 0;
    const isEnded = (snapshot.context as MessageContext).end !== null;
    const send: Move = {
      name: 'send',
      from: task,
      principal: { sub: 'ada', roles: [] },
      event: {
        type: 'agents.send_message',
        schema_version: '1.0',
        agent_id: 'main',
        message: 'Where?',
        conversation: 'trip',
        task_id: 'T',
      },
    };
    return [
      // The task asks again only after it was answered.
      ...(snapshot.status !== 'done' && (isNew || isEnded) ? [send] : []),
      {
        name: 'cancel',
        from: task,
        tell: true,
        event: { type: 'task.cancel', task_id: 'T', reason: 'no' },
      },
      { name: 'prepared', job: 'prepare', output: { text: 'Where now?' } },
      { name: 'not allowed', job: 'prepare', output: { refusal: away } },
      { name: 'unreadable', job: 'prepare', error: away },
      received('accepted', { result: { runId: 'task-T' } }),
      received('refused', { error: away }),
      received('refused by another', { error: away }, address('default', 'session', 'x')),
      ended('answered', {}),
      ended('failed', { status: 'error', error: away }),
      ended('failed without a reason', { status: 'timeout' }),
      ended('aborted', { status: 'aborted' }),
      ended('joined', { joined: 'r2' }),
      ended('another run', {}, 'r2'),
    ];
  },
  key: ({ snapshot, jobs }) => {
    const { end, reply } = snapshot.context as MessageContext;
    return [snapshot.value, snapshot.status, Object.keys(jobs), end, reply !== null];
  },
  ledger: () => new Seen(),
};
