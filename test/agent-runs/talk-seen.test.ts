/**
 * What users with a plain WebSocket client see of agents that communicate: subagents start and end
 * under the run that started them, messages between agents are never shown as a user's messages,
 * and the outcome of a conversation is announced once to the users of the target agent.
 */
import { expect, it, onTestFinished } from 'vitest';
import { type Client, connected, type Frame } from '../channels/gateway/client.ts';
import { eventually } from '../runtime/eventually.ts';
import { gate, play, says, type Script, settled, subagentsOf, wants } from './scripted-agents.ts';

const API = 'anthropic-messages';
const MAIN = 'agent:main:main';
const CODER = 'agent:coder:main';
const CREW = {
  agents: { agents: [{ id: 'main', default: true }, { id: 'coder' }] },
  tools: { agentToAgent: { enabled: true } },
};

const enter = async (troupe: { url: string }): Promise<Client> => {
  const client = await connected(troupe);
  onTestFinished(async () => {
    await client.close();
    expect(client.complaints).toEqual([]);
  });
  return client;
};
const send = async (client: Client, sessionKey: string, message: string) => {
  const params = { sessionKey, message, idempotencyKey: message };
  expect((await client.call('chat.send', params)).error).toBeUndefined();
  await client.frame(
    ({ event, payload }) =>
      event === 'chat' && payload.runId === message && payload.state === 'final',
  );
};
const finalsIn = (client: Client, sessionKey: string): readonly string[] =>
  client
    .events('chat')
    .filter(({ payload }) => payload.sessionKey === sessionKey && payload.state === 'final')
    .map(({ payload }) => (payload.message?.content[0].text ?? '') as string);
const streamOf = (client: Client, stream: string): readonly Frame['payload'][] =>
  client
    .events('agent')
    .map(({ payload }): Frame['payload'] => payload)
    .filter((one) => one.stream === stream);

it('clients of the parent see a subagent begin and end', async () => {
  const script: Script = ({ isSubagent, said, results }) => {
    if (isSubagent && said === 'fail') return { kind: 'refuse', status: 400, message: 'no paper' };
    if (isSubagent) return says('seven');
    if (results.length > 0) return says('One worked, one did not.');
    return wants(
      ['sessions_spawn', { task: 'count', label: 'good', wait: true }],
      ['sessions_spawn', { task: 'fail', label: 'bad', wait: true }],
    );
  };
  const { troupe } = await play(API, script, CREW);
  const client = await enter(troupe);
  await send(client, MAIN, 'do both');
  await settled(troupe);
  const received = await eventually(() => {
    const all = streamOf(client, 'subagent');
    expect(all.filter(({ data }) => data.phase !== 'start')).toHaveLength(2);
    return all;
  });
  for (const { label, runId, sessionKey, startedAt, endedAt, reason } of subagentsOf(troupe)) {
    const mine = received.filter(({ data }) => data.label === label);
    const isGood = label === 'good';
    expect(mine.map(({ data }) => data.phase)).toEqual(['start', isGood ? 'end' : 'error']);
    for (const one of mine)
      expect(one.data).toMatchObject({ runId, sessionKey, parentSessionKey: MAIN });
    expect(mine[0].data).toMatchObject({ startedAt });
    expect(mine[1].data).toMatchObject(
      isGood ? { endedAt, outcome: 'ok' } : { endedAt, outcome: 'error', errorMessage: reason },
    );
  }
  // the work of a subagent is visible, but never as its parent's
  const lifecycles = streamOf(client, 'lifecycle').filter((one) => one.runId !== 'do both');
  expect(lifecycles.filter(({ data }) => data.phase === 'start')).toHaveLength(2);
  for (const { data } of lifecycles.filter((one) => one.data.phase === 'start'))
    expect(data).toMatchObject({ spawnedBy: MAIN, origin: { kind: 'task' } });
  expect(finalsIn(client, MAIN)).toEqual(['One worked, one did not.']);
});

it('results of subagents are not shown as a user message, and one answer follows', async () => {
  const hold = gate();
  const script: Script = async ({ isSubagent, said, results }) => {
    if (isSubagent) {
      await hold.opened;
      return says('seven');
    }
    if (said.startsWith('[Results')) return says('Seven, all received.');
    return results.length > 0
      ? says('I let a subagent count.')
      : wants(['sessions_spawn', { task: 'count' }], ['sessions_spawn', { task: 'count again' }]);
  };
  const { troupe } = await play(API, script, CREW);
  const client = await enter(troupe);
  await send(client, MAIN, 'count');
  hold.open();
  await eventually(() => expect(finalsIn(client, MAIN)).toHaveLength(2));
  await settled(troupe);
  expect(finalsIn(client, MAIN)).toEqual(['I let a subagent count.', 'Seven, all received.']);
  const { payload } = await client.call('chat.history', { sessionKey: MAIN });
  const messages = payload.messages as { role: string }[];
  const persons = messages.filter((one) => one.role === 'user' && !('origin' in one));
  expect(JSON.stringify(persons)).not.toContain('Results of subagents');
  const chats = JSON.stringify(client.events('chat'));
  expect(chats).not.toContain('Results of subagents');
});

const talk =
  (announcement: string): Script =>
  ({ agent, said, isOfAgent, results }) => {
    if (said.startsWith('Agent-to-agent announce')) return says(announcement);
    if (agent === 'coder' && !isOfAgent) return says('I am.');
    if (agent === 'coder') return says(said === 'how is it?' ? 'It compiles.' : 'REPLY_SKIP');
    if (said !== 'ask the coder') return says('REPLY_SKIP');
    if (results.length > 0) return says(`It says: ${String(results[0]!['reply'])}`);
    return wants(['sessions_send', { sessionKey: CODER, message: 'how is it?' }]);
  };

it('the result of a conversation is announced once to the users of the target session', async () => {
  const { troupe } = await play(API, talk('Main asked how it is; it compiles.'), CREW);
  const client = await enter(troupe);
  await send(client, CODER, 'are you there?');
  await send(client, MAIN, 'ask the coder');
  const { conversations } = await settled(troupe);
  expect(conversations[0]!.turns.at(-1)).toMatchObject({ turn: 'announce', status: 'ok' });
  const isAnnounced = (text: string): boolean => text === 'Main asked how it is; it compiles.';
  await eventually(() => expect(finalsIn(client, CODER).filter(isAnnounced)).toHaveLength(1));
  expect(finalsIn(client, MAIN).filter(isAnnounced)).toEqual([]);
  expect(finalsIn(client, MAIN)[0]).toBe('It says: It compiles.');
  const events = JSON.stringify(client.events('chat'));
  for (const word of ['REPLY_SKIP', 'Agent-to-agent']) expect(events).not.toContain(word);
});

it('a silent target announces nothing', async () => {
  const { troupe } = await play(API, talk('ANNOUNCE_SKIP'), CREW);
  const client = await enter(troupe);
  await send(client, CODER, 'are you there?');
  await send(client, MAIN, 'ask the coder');
  const { conversations } = await settled(troupe);
  expect(conversations[0]!.turns.at(-1)).toMatchObject({ turn: 'announce', skipped: true });
  const events = JSON.stringify(client.events('chat'));
  for (const word of ['ANNOUNCE_SKIP', 'Agent-to-agent']) expect(events).not.toContain(word);
});

it('a session without users is not asked for an announcement', async () => {
  const { troupe, turns } = await play(API, talk('well said'), CREW);
  const client = await enter(troupe);
  await send(client, MAIN, 'ask the coder');
  const { conversations } = await settled(troupe);
  expect(conversations[0]!.turns.map(({ turn }) => turn)).not.toContain('announce');
  expect(turns().some(({ said }) => said.startsWith('Agent-to-agent announce'))).toBe(false);
});
