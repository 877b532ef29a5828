/** The events that a conversation can receive, and the invariants that hold on every path. */
import { conversationMachine } from '../../../actors/conversation/machine.ts';
import type { ConversationContext } from '../../../actors/conversation/types.ts';
import { address } from '../../../protocols/address.ts';
import {
  conversationAddress,
  type ConversationAnswered,
  type ConversationBegin,
  type ConversationRow,
  PING_PONG_TURNS_MAX,
} from '../../../protocols/conversation.ts';
import type { RunEnded, SessionReceive } from '../../../protocols/session.ts';
import type { Project, Tell } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const REQUESTER = 'agent:planner:main';
export const TARGET = 'agent:coder:main';
const ID = 'c1';
const sessionOf = (key: string) => address('default', 'session', key);
const operator = { sub: 'ada', roles: ['operator'] };

/** The limits with which a conversation began. */
export const begin = (more: Partial<ConversationBegin> = {}): ConversationBegin => ({
  type: 'conversation.begin',
  requester: REQUESTER,
  requesterRunId: 'run-1',
  target: TARGET,
  text: 'What do you think?',
  priority: 'normal',
  waitMs: 5_000,
  turns: 5,
  lineage: { hops: 1, visited: [REQUESTER], left: 49 },
  ...more,
});

export const contextOf = (live: Live) => live.snapshot.context as ConversationContext;

/** The end of a run; by default of the awaited run, with text, in a session that has users. */
export function ended(live: Live, more: Partial<RunEnded> = {}): RunEnded {
  const awaited = contextOf(live).turns.at(-1);
  return {
    type: 'run.ended',
    runId: awaited?.runId ?? 'none',
    sessionKey: awaited?.sessionKey ?? TARGET,
    status: 'ok',
    text: 'words',
    usage: { inputTokens: 1, outputTokens: 1 },
    startedAt: 1,
    endedAt: 2,
    open: 0,
    channel: 'telegram',
    below: { usage: { inputTokens: 0, outputTokens: 0 }, spawned: 0 },
    ...more,
  };
}

/** The messages and rows of the conversation, and whether they are permitted. */
class Account {
  begun: ConversationBegin | undefined;
  asked: SessionReceive[] = [];
  to: string[] = [];
  results: ConversationAnswered[] = [];
  row: ConversationRow | null | undefined;
  /** run ids that a session has reported */
  taken = new Set<string>();

  copy(): Account {
    return Object.assign(new Account(), this, {
      asked: [...this.asked],
      to: [...this.to],
      results: [...this.results],
      taken: new Set(this.taken),
    });
  }

  take(happened: Happened): void {
    const { cause, step } = happened;
    const { event } = cause;
    const before = this.asked.at(-1)?.runId;
    if (event.type === 'conversation.begin') this.begun ??= event as unknown as ConversationBegin;
    if (event.type === 'run.ended') this.taken.add((event as unknown as RunEnded).runId);
    if (event.type === 'reply' && event['result'])
      this.taken.add((event['result'] as { runId: string }).runId);
    for (const tell of requestsOf<Tell>(step.requests, 'tell')) this.#checkSent(tell);
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as ConversationRow | null;
    if (event.type === 'run.ended' && (event as unknown as RunEnded).runId !== before)
      demand(step.requests, 'the end of a run that is not awaited changes nothing').toEqual([]);
    if (step.outcome !== 'ignored') this.#check(happened);
  }

  #checkSent({ to, event, ask }: Tell): void {
    if (event.type === 'conversation.answered') {
      demand(to, 'the requester is answered').toBe(sessionOf(REQUESTER));
      this.results.push(event as unknown as ConversationAnswered);
      return;
    }
    demand(event).toMatchObject({ type: 'session.receive', notify: true, queue: 'followup' });
    demand(ask, 'a refusal returns to the conversation').toBe(true);
    this.asked.push(event as unknown as SessionReceive);
    this.to.push(to);
  }

  #check({ step: { live } }: Happened): void {
    const context = contextOf(live);
    const ids = this.asked.map(({ runId }) => runId);
    demand(new Set(ids).size, 'each turn is requested once').toBe(ids.length);
    const turns = Math.min(this.begun?.turns ?? 0, PING_PONG_TURNS_MAX);
    demand(ids.length, 'at most turns + 2 runs').toBeLessThanOrEqual(turns + 2);
    demand(this.results.length, 'answered once').toBeLessThanOrEqual(1);
    const isAsking = live.snapshot.matches('asking');
    if (this.begun && !isAsking)
      demand(this.results, 'the requester is answered before the replies').toHaveLength(1);
    if (context.answered) demand(this.results).toHaveLength(1);
    this.#checkResult();
    this.#checkTurns();
    if (!live.snapshot.matches('removed')) this.#checkRow(live);
    else demand(this.row, 'the row is removed with the conversation').toBeNull();
  }

  #checkResult(): void {
    const result = this.results[0]?.result;
    if (!result) return;
    const { status, delivered, reply, reason } = result;
    demand(result.runId).toBe(`talk-${ID}-0`);
    if (delivered) demand(this.taken.has(result.runId), 'delivered is true').toBe(true);
    if (status === 'ok' || status === 'timeout') demand(delivered).toBe(true);
    if (status === 'refused') demand([delivered, reason]).toEqual([false, 'full']);
    demand(reply !== undefined, 'only the status ok has a reply').toBe(status === 'ok');
    demand(result.responseTime).toBeGreaterThanOrEqual(0);
  }

  /** The sides take turns, each turn is one hop further, and they share the granted messages. */
  #checkTurns(): void {
    const sides = this.asked.map(({ origin }, n) =>
      origin?.kind === 'announce' || n % 2 === 0 ? TARGET : REQUESTER,
    );
    demand(this.to).toEqual(sides.map(sessionOf));
    const { hops = 0, left = 0 } = this.begun?.lineage ?? {};
    const lineages = this.asked.map(({ lineage }) => lineage!);
    demand(lineages.map((one) => one.hops)).toEqual(lineages.map((_, n) => hops + n));
    const shared = lineages.reduce((sum, one) => sum + one.left, 0);
    demand(shared, 'messages left are shared').toBeLessThanOrEqual(left);
  }

  #checkRow({ snapshot }: Live): void {
    if (!this.begun) return;
    const row = this.row!;
    demand(row.turns.map(({ runId }) => runId)).toEqual(this.asked.map(({ runId }) => runId));
    const value = snapshot.value as string | object;
    demand(row.status).toBe(typeof value === 'string' ? value : Object.keys(value)[0]);
    demand(row.endedAt !== undefined).toBe(row.status === 'ended');
    if (row.status === 'ended') demand(row.end, 'why there was no further turn').toBeDefined();
  }
}

const BEGINS: Move[] = [
  { name: 'begin with more turns than allowed', event: begin({ turns: 9 }) },
  { name: 'begin without waiting', event: begin({ turns: 1, waitMs: 0 }) },
  { name: 'begin without turns', event: begin({ turns: 0, priority: 'high' }) },
];

const ALWAYS: Move[] = [
  { name: 'release', event: { type: 'conversation.unwait', reason: 'wait-cycle' }, tell: true },
  { name: 'end', event: { type: 'conversation.end' }, principal: operator },
  {
    name: 'end by a guest',
    event: { type: 'conversation.end' },
    principal: { sub: 'e', roles: [] },
  },
  {
    name: 'end by an actor',
    event: { type: 'conversation.end' },
    principal: operator,
    from: sessionOf(TARGET),
  },
];

const end = (name: string, live: Live, more: Partial<RunEnded> = {}): Move => ({
  name,
  event: ended(live, more),
  from: sessionOf(ended(live, more).sessionKey),
  tell: true,
});

const replied = (name: string, from: string, fields: object): Move => ({
  name,
  event: { type: 'reply', to: 'm', ...fields },
  from: sessionOf(from),
  tell: true,
});

function moves(live: Live): Move[] {
  const { turns } = contextOf(live);
  const awaited = turns.at(-1);
  const before = turns.at(-2);
  const session = awaited?.sessionKey ?? TARGET;
  const other = session === TARGET ? REQUESTER : TARGET;
  const { channel: _, ...alone } = ended(live);
  const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'full' };
  const failure = { code: 'INTERNAL' as const, message: 'broken' };
  return [
    ...(awaited ? BEGINS.slice(0, 1) : BEGINS),
    ...ALWAYS,
    replied('accept', session, { result: { runId: awaited?.runId, status: 'accepted' } }),
    replied('accept something else', session, { result: { runId: before?.runId ?? 'x' } }),
    replied('refuse', session, { error }),
    replied('refuse by another session', other, { error }),
    end('answer', live),
    { name: 'answer to an ended conversation', event: alone, from: sessionOf(session), tell: true },
    end('say nothing', live, { text: ' \n' }),
    end('want no more', live, { text: 'REPLY_SKIP\n' }),
    end('fail', live, { status: 'error', text: '', error: failure }),
    end('be late', live, { status: 'timeout', text: 'half of it' }),
    end('be aborted', live, { status: 'aborted', text: '' }),
    end('join another run', live, { joined: 'run-9' }),
    end('answer before', live, { runId: before?.runId ?? 'x', sessionKey: other }),
    end('answer to another conversation', live, { runId: 'talk-other-0' }),
  ];
}

export const exploration: Exploration = {
  machine: conversationMachine,
  self: conversationAddress('default', ID),
  moves,
  key: ({ snapshot, timers }) => {
    const context = snapshot.context as ConversationContext;
    const { delivered, answered, released, hasAudience, about, turns } = context;
    return [
      snapshot.value,
      snapshot.status,
      [delivered, answered, released, hasAudience],
      [about?.waitMs, about?.turns, turns.length, context.first !== undefined, context.end],
      Object.values(timers).filter(({ fired }) => !fired).length,
    ];
  },
  ledger: () => new Account(),
};
