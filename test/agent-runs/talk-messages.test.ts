/**
 * Messages between agents: every status that the sender's model reads, by the case that leads to
 * it; the number of replies and what ends them; the length of a chain.
 */
import { describe, expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { eventually } from '../runtime/eventually.ts';
import type { Installation } from './installation.ts';
import {
  conversationsOf,
  gate,
  heardBy,
  play,
  type Played,
  resultsOf,
  type Said,
  says,
  type Script,
  settled,
  wants,
} from './scripted-agents.ts';

const API = 'openai-responses';
const MAIN = 'agent:main:main';
const CODER = 'agent:coder:main';
const GO = 'go: ';

/** Agents that may reach each other, unless `talk` or their own configuration forbids it. */
const crew = (talk: object = {}, agents: readonly { id: string }[] = [], more: object = {}) => ({
  agents: {
    agents: [
      { id: 'main', default: true },
      ...agents,
      ...['coder', 'carl'].flatMap((id) => (agents.some((one) => one.id === id) ? [] : [{ id }])),
    ],
  },
  tools: { agentToAgent: { enabled: true, ...talk } },
  ...more,
});

/** An agent sends the message of `go: {…}` once; all others answer by `others`. */
const sender =
  (others: Script = () => says('REPLY_SKIP')): Script =>
  (turn) => {
    if (!turn.said.startsWith(GO)) return others(turn);
    if (turn.results.length > 0) return says('sent');
    return wants(['sessions_send', JSON.parse(turn.said.slice(GO.length)) as object]);
  };

/** What the model of the main session reads when it sends this message. */
async function sent({ troupe }: Played, args: object): Promise<Said> {
  await troupe.run(MAIN, `${GO}${JSON.stringify(args)}`);
  return (await resultsOf(troupe, MAIN)).at(-1)!;
}
const hello = (more: object = {}) => ({ sessionKey: CODER, message: 'hello', ...more });
const say = ({ system }: Installation, sessionKey: string, event: { type: string }) =>
  system.ask(sessionAddress('default', sessionKey), event, {
    principal: { sub: 'ada', roles: ['operator'] },
    timeoutMs: 20_000,
  });

describe('the status of a message is', () => {
  it('ok with the reply and its time', async () => {
    const played = await play(
      API,
      sender(({ said }) => says(said === 'hello' ? 'hi' : 'REPLY_SKIP')),
      crew(),
    );
    const result = await sent(played, hello());
    expect(result).toMatchObject({
      status: 'ok',
      delivered: true,
      reply: 'hi',
      response: 'hi',
      sessionKey: CODER,
      responseTime: expect.any(Number) as number,
    });
    expect(result['runId']).toBe((await heardBy(played.troupe, CODER))[0]!.runId);
  });

  it.each([{ timeoutSeconds: 0 }, { waitForResponse: false }, { timeout: 0 }])(
    'accepted when the sender does not wait for the answer: %j',
    async (wish) => {
      const hold = gate();
      const others: Script = async ({ said }) => {
        if (said !== 'hello') return says('REPLY_SKIP');
        await hold.opened;
        return says('hi');
      };
      const played = await play(API, sender(others), crew());
      expect(await sent(played, hello(wish))).toMatchObject({
        status: 'accepted',
        delivered: true,
      });
      hold.open();
      const { conversations } = await settled(played.troupe);
      expect(conversations[0]!.turns[0]).toMatchObject({ turn: 0, status: 'ok' });
    },
  );

  it.each([{ timeoutSeconds: 1 }, { timeout: 900 }])(
    'timeout when the answer takes longer, and the exchange continues: %j',
    async (wish) => {
      const hold = gate();
      const others: Script = async ({ said }) => {
        if (said !== 'hello') return says('REPLY_SKIP');
        await hold.opened;
        return says('hi, at last');
      };
      const played = await play(API, sender(others), crew());
      const result = await sent(played, hello(wish));
      expect(result).toMatchObject({ status: 'timeout', delivered: true });
      expect(result).not.toHaveProperty('reply');
      hold.open();
      await settled(played.troupe);
      const heard = await heardBy(played.troupe, MAIN);
      expect(heard.map(({ text, origin }) => [text, origin?.kind])).toContainEqual([
        'hi, at last',
        'agent',
      ]);
    },
  );

  it('error when the other agent’s run fails', async () => {
    const others: Script = () => ({ kind: 'refuse', status: 400, message: 'out of ink' });
    const played = await play(API, sender(others), crew());
    const result = await sent(played, hello());
    expect(result).toMatchObject({ status: 'error', delivered: true });
    expect(result['error']).toContain('out of ink');
    const { conversations } = await settled(played.troupe);
    expect(conversations).toMatchObject([{ end: 'failed', turns: [{ status: 'error' }] }]);
  });

  it('refused when too many messages wait, with the limit', async () => {
    const hold = gate();
    const others: Script = async () => {
      await hold.opened;
      return says('REPLY_SKIP');
    };
    const config = crew({}, [], {
      messages: { queue: { cap: 1, overflow: 'refuse', mode: 'followup' } },
    });
    const played = await play(API, sender(others), config);
    const { troupe } = played;
    await troupe.send(CODER, 'first');
    await eventually(() => expect(troupe.sessionRow(CODER)?.status).toBe('running'));
    await eventually(() => expect(played.turns().length).toBe(1));
    await troupe.send(CODER, 'second');
    const result = await sent(played, hello());
    expect(result).toMatchObject({ status: 'refused', delivered: false });
    expect(String(result['reason'])).toContain('messages waiting');
    hold.open();
    await settled(troupe);
    expect((await heardBy(troupe, CODER)).map(({ text }) => text)).toEqual(['first', 'second']);
  });

  it('refused with loop when the target is the sender itself', async () => {
    const played = await play(API, sender(), crew());
    const result = await sent(played, { sessionKey: MAIN, message: 'hello me' });
    expect(result).toMatchObject({ status: 'refused', reason: 'loop', delivered: false });
    expect(conversationsOf(played.troupe)).toEqual([]);
  });

  it.each<[string, Said]>([
    ['a session', { sessionKey: 'agent:coder:nowhere', message: 'x' }],
    ['an agent', { sessionKey: 'agent:unknown:main', message: 'x' }],
    ['a label', { label: 'the red one', message: 'x' }],
  ])('not found where %s is not there', async (_, args) => {
    const played = await play(API, sender(), crew());
    expect(await sent(played, args)).toMatchObject({ status: 'not_found', delivered: false });
    expect(conversationsOf(played.troupe)).toEqual([]);
  });

  it.each<[string, object]>([
    ['tools.agentToAgent.enabled', crew({ enabled: false })],
    ['tools.agentToAgent.allow', crew({ allow: [{ from: 'coder', to: 'main' }] })],
    [
      'agents.agents[main].a2a.allowOutgoing',
      {
        ...crew(),
        agents: {
          agents: [
            { id: 'main', default: true, a2a: { allowOutgoing: ['carl'] } },
            { id: 'coder' },
            { id: 'carl' },
          ],
        },
      },
    ],
    [
      'agents.agents[coder].a2a.allowIncoming',
      crew({}, [{ id: 'coder', a2a: { allowIncoming: ['carl'] } } as { id: string }]),
    ],
    [
      'agents.defaults.sandbox.sessionToolsVisibility',
      {
        ...crew(),
        agents: {
          defaults: { sandbox: { mode: 'always', allowlist: ['group:sessions'], denylist: [] } },
          agents: [{ id: 'main', default: true }, { id: 'coder' }],
        },
      },
    ],
  ])('forbidden by %s, which it names', async (rule, config) => {
    const played = await play(API, sender(), config as Readonly<Record<string, unknown>>);
    expect(await sent(played, hello())).toMatchObject({
      status: 'forbidden',
      rule,
      delivered: false,
    });
    expect(played.troupe.sessionRow(CODER)).toBeUndefined();
    expect(conversationsOf(played.troupe)).toEqual([]);
  });

  it('ambiguous when several labels have the prefix, and a unique label or prefix is found', async () => {
    const played = await play(
      API,
      sender(() => says('REPLY_SKIP')),
      crew(),
    );
    const { troupe } = played;
    for (const [key, label] of [
      ['blue', 'paint blue'],
      ['red', 'paint red'],
    ]) {
      await troupe.run(`agent:coder:${key}`, 'be there');
      await say(troupe, `agent:coder:${key}`, { type: 'session.set', label } as { type: string });
    }
    const byLabel = (label: string) => sent(played, { label, message: 'hello', agentId: 'coder' });
    await eventually(() => expect(troupe.sessionRow('agent:coder:red')?.label).toBe('paint red'));
    expect(await byLabel('paint r')).toMatchObject({ status: 'ok', sessionKey: 'agent:coder:red' });
    const several = await byLabel('paint');
    expect(several).toMatchObject({ status: 'ambiguous', delivered: false });
    expect(JSON.stringify(several['candidates'])).toContain('agent:coder:blue');
  });
});

describe('after the first answer', () => {
  /** The agent of each run of the exchange, in order, without the announcement. */
  const turnsOf = (troupe: Installation) =>
    conversationsOf(troupe)[0]!
      .turns.filter(({ turn }) => turn !== 'announce')
      .map(({ sessionKey }) => sessionKey);
  const chatty: Script = ({ request }) => says(`and another thing, number ${request}`);

  it.each([0, 1, 2, 3, 4, 5])('%i replies alternate, the sender first', async (turns) => {
    const config = { ...crew(), session: { agentToAgent: { maxPingPongTurns: turns } } };
    const played = await play(API, sender(chatty), config);
    await sent(played, hello());
    const { conversations } = await settled(played.troupe);
    expect(turnsOf(played.troupe)).toEqual(
      Array.from({ length: turns + 1 }, (_, n) => (n % 2 === 0 ? CODER : MAIN)),
    );
    expect(conversations[0]).toMatchObject({ end: 'turns' });
  });

  it.each(['REPLY_SKIP', ' REPLY_SKIP\n', 'NO_REPLY'])(
    '%j ends the exchange and is not delivered',
    async (word) => {
      const others: Script = ({ said }) => says(said === 'hello' ? 'hi' : word);
      const played = await play(API, sender(others), crew());
      await sent(played, hello());
      const { conversations } = await settled(played.troupe);
      expect(conversations[0]).toMatchObject({
        end: 'skipped',
        turns: [{ turn: 0 }, { turn: 1, skipped: true }],
      });
      for (const key of [MAIN, CODER])
        expect(JSON.stringify(await heardBy(played.troupe, key))).not.toContain(word.trim());
    },
  );

  it('each side receives its role, the turn and both sessions', async () => {
    const played = await play(API, sender(chatty), {
      ...crew(),
      session: { agentToAgent: { maxPingPongTurns: 2 } },
    });
    await sent(played, hello());
    await settled(played.troupe);
    const systems = played.turns().map(({ system }) => system);
    const first = systems.find((text) => text.includes('Turn 1 of 2.'))!;
    const second = systems.find((text) => text.includes('Turn 2 of 2.'))!;
    expect(first).toContain('Current agent: Agent 1 (requester).');
    expect(second).toContain('Current agent: Agent 2 (target).');
    for (const text of [first, second])
      for (const key of [MAIN, CODER]) expect(text).toContain(`session: ${key}.`);
  });
});

describe('a chain of agents', () => {
  const next: Readonly<Record<string, string>> = { main: 'coder', coder: 'carl', carl: 'main' };
  /** Each agent that is asked asks the next one, and reports the outcome. */
  const asksOn: Script = ({ agent, said, results }) => {
    if (!said.startsWith('tell')) return says('REPLY_SKIP');
    if (results.length > 0) return says(`${agent} heard ${String(results[0]!['status'])}`);
    return wants([
      'sessions_send',
      { sessionKey: `agent:${next[agent]}:main`, message: 'tell the next' },
    ]);
  };

  it('is cut where it would return to a visited session: A → B → C → A', async () => {
    const { troupe } = await play(API, asksOn, crew());
    await troupe.run(MAIN, 'tell the next');
    const { conversations } = await settled(troupe);
    expect(
      conversations.map(({ requester, target }) => `${requester}>${target}`).toSorted(),
    ).toEqual([`${CODER}>agent:carl:main`, `${MAIN}>${CODER}`].toSorted());
    expect(await resultsOf(troupe, 'agent:carl:main')).toMatchObject([
      { status: 'refused', reason: 'loop', delivered: false, sessionKey: MAIN },
    ]);
  });

  it('is cut at the hop limit', async () => {
    const { troupe } = await play(API, asksOn, {
      ...crew(),
      session: { agentToAgent: { maxHops: 1 } },
    });
    await troupe.run(MAIN, 'tell the next');
    await settled(troupe);
    expect(await resultsOf(troupe, CODER)).toMatchObject([
      { status: 'refused', reason: 'hops', delivered: false },
    ]);
  });

  it('is cut when the messages allowed for one user message are used up', async () => {
    const { troupe } = await play(API, asksOn, {
      ...crew(),
      session: { agentToAgent: { maxMessages: 1 } },
    });
    await troupe.run(MAIN, 'tell the next');
    await settled(troupe);
    expect(await resultsOf(troupe, CODER)).toMatchObject([
      { status: 'refused', reason: 'messages', delivered: false },
    ]);
  });
});

it('an urgent message goes before waiting ones, other messages behind them', async () => {
  const hold = gate();
  const others: Script = async ({ said, agent }) => {
    if (agent === 'coder' && said === 'first') await hold.opened;
    return says('REPLY_SKIP');
  };
  const all = ['low', 'normal', 'high'].map(
    (priority) =>
      ['sessions_send', hello({ message: priority, priority, timeoutSeconds: 0 })] as const,
  );
  const script: Script = (turn) => {
    if (turn.said !== 'send all') return others(turn);
    // one after the other, so that their order is known
    return turn.results.length < all.length ? wants(all[turn.results.length]!) : says('sent');
  };
  const { troupe, turns } = await play(API, script, crew());
  await troupe.send(CODER, 'first');
  await eventually(() => expect(turns()).toHaveLength(1));
  await troupe.run(MAIN, 'send all');
  hold.open();
  await settled(troupe);
  const order = (await heardBy(troupe, CODER)).map(({ text }) => text);
  expect(order.filter((text) => /^(low|normal|high)$/.test(text))).toEqual([
    'high',
    'normal',
    'low',
  ]);
});

describe('waits that would form a cycle are answered immediately', () => {
  const ids = ['main', 'coder', 'carl'];
  it.each([2, 3])('for %i sessions that each wait for the next', async (size) => {
    const met = gate();
    const asking = new Set<string>();
    const script: Script = async ({ agent, said, results }) => {
      if (said !== 'ask the next') return says('REPLY_SKIP');
      if (results.length > 0) return says(`status ${String(results[0]!['status'])}`);
      asking.add(agent);
      if (asking.size === size) met.open();
      // all of them are running before the first one asks
      await met.opened;
      const to = ids[(ids.indexOf(agent) + 1) % size];
      // an hour: only the detection of the cycle can end this wait
      const args = { sessionKey: `agent:${to}:main`, message: 'well?', timeoutSeconds: 3_600 };
      return wants(['sessions_send', args]);
    };
    const { troupe } = await play(API, script, crew());
    const keys = ids.slice(0, size).map((id) => `agent:${id}:main`);
    const runIds = await Promise.all(keys.map((key) => troupe.send(key, 'ask the next')));
    for (const runId of runIds)
      expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'ok' });
    const results = (await Promise.all(keys.map((key) => resultsOf(troupe, key)))).flat();
    const cycles = results.filter(({ reason }) => reason === 'wait-cycle');
    expect(cycles.length).toBeGreaterThanOrEqual(1);
    for (const one of cycles) expect(one).toMatchObject({ status: 'accepted' });
    for (const one of results) expect(['accepted', 'ok']).toContain(one['status']);
    // nothing was lost: every message was answered
    const { conversations } = await settled(troupe);
    expect(conversations).toHaveLength(size);
    for (const { turns } of conversations) expect(turns[0]).toMatchObject({ status: 'ok' });
  });
});
