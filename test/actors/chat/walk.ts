/** The events that a chat can receive, and the invariants that hold on every path. */
import { chatMachine } from '../../../actors/chat/machine.ts';
import type { ChatContext } from '../../../actors/chat/types.ts';
import {
  chatAddress,
  type ChatRef,
  pieceIdOf,
  type SendOutcome,
} from '../../../protocols/channel.ts';
import type { SendInput } from '../../../protocols/channel-effects.ts';
import type { DeadLetterAsk, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const ACCOUNT = { channel: 'telegram', account: 'main' };
const CHAT: ChatRef = { kind: 'group', id: 'room' };

/** The pieces that the service has accepted, and those that are reported. */
class Seen {
  /** each message arrives once: the mailbox ignores repeats */
  arrived: readonly string[] = [];
  runs: readonly string[] = [];
  sent: readonly string[] = [];
  letters: readonly string[] = [];
  sending: SendInput | undefined;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ step, name }: Happened): void {
    const { requests, live } = step;
    for (const { event } of requestsOf<Tell>(requests, 'tell')) {
      const { runId } = event as unknown as { runId: string };
      demand(this.runs, 'a message reaches the session once').not.toContain(runId);
      this.runs = [...this.runs, runId];
    }
    this.#account(name);
    if (name.startsWith('inbound ')) this.arrived = [...this.arrived, name];
    for (const { event } of requestsOf<DeadLetterAsk>(requests, 'deadLetter'))
      this.letters = [...this.letters, String(event['id'])];
    for (const request of requests)
      if (request.kind === 'start' && ['send', 'reconcile'].includes(request.id))
        this.sending = request.input as SendInput;
    const context = live.snapshot.context as ChatContext;
    if (context.live?.isPending) demand(live.jobs['send'], 'deliveries wait').toBeUndefined();
    demand(context.queue.length + this.letters.length).toBeLessThanOrEqual(200);
  }

  #account(name: string): void {
    const input = this.sending;
    if (!/^(send|reconcile): sent/.test(name) || !input) return;
    const piece = `${input.id}:${input.piece}`;
    demand(this.sent, 'a piece is sent once').not.toContain(piece);
    this.sent = [...this.sent, piece];
  }
}

const inbound = (key: string, needsPreparation: boolean, isObserved = false): Move => ({
  name: `inbound ${key}`,
  tell: true,
  event: {
    type: 'chat.inbound',
    message: {
      key,
      kind: 'message',
      messageId: key,
      chat: CHAT,
      sender: { id: 'bob', name: 'Bob' },
      text: 'hello',
      mentionsAccount: true,
    },
    route: { agentId: 'main', sessionKey: 'agent:main:main', rule: 'default' },
    ...(needsPreparation && { needsPreparation: true }),
    ...(isObserved && { isObserved }),
  },
});
const runIdOf = (key: string) => `telegram:main:${key}`;
const ended = (key: string, text: string): Move => ({
  name: `ended ${key} ${text}`,
  tell: true,
  event: {
    type: 'run.ended',
    runId: runIdOf(key),
    sessionKey: 'agent:main:main',
    status: 'ok',
    text,
    usage: {},
    startedAt: 0,
    endedAt: 1,
    open: 0,
    below: { usage: {}, spawned: 0 },
  },
});
const error = { code: 'UNAVAILABLE', message: 'away' } as const;
const sends = (job: 'send' | 'preview'): readonly Move[] => [
  { name: `${job}: sent`, job, output: { status: 'sent', messageId: '7', pieces: 1 } },
  {
    name: `${job}: sent, one more`,
    job,
    output: { status: 'sent', messageId: '7', pieces: 2, restMs: 1_000 },
  },
  { name: `${job}: unknown`, job, output: { status: 'unknown', error } },
  {
    name: `${job}: asked to wait`,
    job,
    output: { status: 'not_sent', error: { ...error, retryAfterMs: 3_000 } },
  },
  { name: `${job}: refused`, job, output: { status: 'not_sent', error, isFinal: true } },
  { name: `${job}: failed`, job, error },
];
const deliver = (text: string): Move => ({
  name: `deliver ${text.length}`,
  event: { type: 'chat.deliver', id: `d${text.length}`, chat: CHAT, text },
});
const tooLong = deliver('x'.repeat(300_000));
const sentByRun: Move = {
  name: 'deliver a message of the run',
  event: { type: 'chat.deliver', id: 'm', text: 'wait', runId: runIdOf('1') },
};
const proved = (pieceId: string, outcome: SendOutcome): Move => ({
  name: `proved: ${pieceId} ${outcome.status}`,
  event: { type: 'chat.outcome', pieceId, outcome },
});
const proofs = ([first]: ChatContext['queue']): readonly Move[] =>
  first?.id === 'd2'
    ? [
        proved(pieceIdOf(first), { status: 'sent' }),
        proved(pieceIdOf(first), { status: 'not_sent', error, isFinal: true }),
      ]
    : [];
const repeated: Move = {
  name: 'deliver one piece',
  event: {
    type: 'chat.deliver',
    id: 'again',
    chat: CHAT,
    text: 'x',
    fromPiece: 1,
    isOnePiece: true,
  },
};

export const exploration: Exploration = {
  machine: chatMachine,
  self: chatAddress('default', ACCOUNT, CHAT),
  moves: (live, _, ledger) => {
    const { queue } = live.snapshot.context as ChatContext;
    return [
      ...[inbound('1', false, true), inbound('2', true)].filter(
        ({ name }) => !(ledger as Seen).arrived.includes(name),
      ),
      {
        name: 'prepared',
        job: 'prepare',
        output: { text: 'hi', route: { agentId: 'main', sessionKey: 's', rule: 'hook' } },
      },
      {
        name: 'refused by a hook',
        job: 'prepare',
        output: {
          text: '',
          route: { agentId: 'main', sessionKey: 's', rule: 'hook' },
          refuse: 'no',
        },
      },
      { name: 'not prepared', job: 'prepare', error },
      {
        name: 'accepted',
        event: { type: 'reply', to: 'x', result: { runId: runIdOf('1') } },
      },
      { name: 'not accepted', event: { type: 'reply', to: 'x', error } },
      { name: 'bounced', event: { type: 'refused', to: 'x', message: 'm', error } },
      ended('1', 'four'),
      ended('1', ''),
      ended('2', 'four'),
      ...(queue.length < 2 ? [deliver('hi'), repeated] : []),
      ...(queue.length === 0 ? [sentByRun] : []),
      tooLong,
      ...sends('send'),
      ...sends('preview'),
      ...proofs(queue),
      proved('other:0', { status: 'sent' }),
      { name: 'reported', job: 'report', output: null },
      { name: 'not reported', job: 'report', error },
      { name: 'reconcile: sent', job: 'reconcile', output: { status: 'sent' } },
      { name: 'reconcile: not sent', job: 'reconcile', output: { status: 'not_sent', error } },
      { name: 'reconcile: unknown', job: 'reconcile', output: { status: 'unknown', error } },
      { name: 'reconcile: failed', job: 'reconcile', error },
      { name: 'follow: text', job: 'follow', output: { text: 'a beginning' } },
      { name: 'follow: over', job: 'follow', output: {} },
      { name: 'follow: failed', job: 'follow', error },
      { name: 'edit: over', job: 'edit', output: null },
      { name: 'edit: failed', job: 'edit', error },
    ];
  },
  key: ({ snapshot, jobs }) => {
    const { open, queue, checks, live, proof } = snapshot.context as ChatContext;
    const shown = live && [live.isPending, live.messageId];
    const counts = [open.length, queue.length, checks];
    return [snapshot.value, counts, shown, proof?.status, Object.keys(jobs)];
  },
  ledger: () => new Seen(),
};
