/** Two agents on the offline model in a whole installation, also across a restart. */
import { describe, expect, it } from 'vitest';
import { agentAddress } from '../../../actors/index.ts';
import type { AgentRow } from '../../../protocols/agent.ts';
import {
  conversationAddress,
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
} from '../../../protocols/conversation.ts';
import { type Installation, install } from '../../agent-runs/installation.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { begin, REQUESTER, TARGET } from './walk.ts';

const PERSON = { sub: 'ada', roles: ['operator'] };
const config = {
  agents: { agents: [{ id: 'main' }, { id: 'planner' }, { id: 'coder' }] },
  tools: { agentToAgent: { enabled: true } },
};

const rowOf = ({ system }: Installation, id: string) =>
  system.index.get<ConversationRow>(
    CONVERSATIONS_INDEX,
    'default',
    conversationRowKey(REQUESTER, id),
  );

const reaches = (troupe: Installation, id: string, wanted: Partial<ConversationRow>) =>
  eventually(() => {
    const row = rowOf(troupe, id);
    expect(row).toMatchObject(wanted);
    return row!;
  });

const talk = async ({ system }: Installation, id: string, turns: number) => {
  const text = `How are you? [[turns:${turns}]]`;
  const event = begin({ turns, text, waitMs: 0 });
  await system.tell(conversationAddress('default', id), event, { principal: PERSON });
};

/** Pauses or resumes the runs of an agent. */
const set = async ({ system }: Installation, agentId: string, status: 'paused' | 'active') => {
  const type = status === 'paused' ? 'agent.pause' : 'agent.resume';
  await system.tell(agentAddress('default', agentId), { type }, { principal: PERSON });
  await eventually(() =>
    expect(system.index.get<AgentRow>('agents', 'default', agentId)).toMatchObject({ status }),
  );
};

const runsOf = async (troupe: Installation, id: string) => {
  const entries = [REQUESTER, TARGET].map((key) => troupe.transcript(key));
  return (await Promise.all(entries))
    .flat()
    .filter(({ type, runId }) => type === 'user' && runId.startsWith(`talk-${id}-`))
    .map(({ runId }) => runId.slice(`talk-${id}-`.length));
};

describe('a conversation of two agents', () => {
  it('is answered, takes turns, and is announced to the users of the target', async () => {
    const troupe = await install({ config });
    await troupe.run(TARGET, 'Good morning.', { channel: 'webchat' });
    await talk(troupe, 'c1', 2);
    const row = await reaches(troupe, 'c1', { status: 'ended' });
    expect(row).toMatchObject({ delivered: true, end: 'turns', requester: REQUESTER });
    expect(row.turns).toMatchObject([
      { turn: 0, sessionKey: TARGET, status: 'ok' },
      { turn: 1, sessionKey: REQUESTER, status: 'ok' },
      { turn: 2, sessionKey: TARGET, status: 'ok' },
      { turn: 'announce', sessionKey: TARGET, status: 'ok' },
    ]);
    expect((await runsOf(troupe, 'c1')).sort()).toEqual(['0', '1', '2', 'announce']);
    const said = (await troupe.rowAtEnd('talk-c1-announce')).text;
    expect(said).toBeTruthy();
    const ends = troupe
      .events(TARGET)
      .filter((one) => one.stream === 'lifecycle' && one.phase === 'end' && one.text === said);
    expect(ends).toHaveLength(1);
  });

  it('is not announced in a session without users', async () => {
    const troupe = await install({ config });
    await talk(troupe, 'c1', 1);
    const row = await reaches(troupe, 'c1', { status: 'ended' });
    expect(row.turns.map(({ turn }) => turn)).toEqual([0, 1]);
  });

  it('starts with a message of an agent, which receives the answer', async () => {
    const troupe = await install({ config });
    const args = { sessionKey: TARGET, message: 'How are you?', timeoutSeconds: 20 };
    const { entries } = await troupe.run(REQUESTER, `call sessions_send ${JSON.stringify(args)}`);
    const results = entries.flatMap((one) => (one.type === 'tool' ? [one.result] : []));
    expect(results).toHaveLength(1);
    expect(JSON.parse(results[0]!)).toMatchObject({ status: 'ok', delivered: true });
    const [found] = troupe.system.index.list<ConversationRow>(CONVERSATIONS_INDEX, 'default');
    const row = await reaches(troupe, found!.value.id, { status: 'ended' });
    expect(row).toMatchObject({ end: 'skipped', turns: [{ turn: 0 }, { turn: 1, skipped: true }] });
  });
});

describe('a conversation whose troupe stops', () => {
  /** Each of them waits while its agent is paused; the installation restarts in that state. */
  it('continues from its current turn and requests no turn twice', async () => {
    const data = scratchFolder();
    let troupe = await install({ config, data });
    const restarted = async (turn: number | 'announce') => {
      const asked = rowOf(troupe, 'c1')!.turns;
      expect(asked.at(-1)).toMatchObject({ turn });
      expect(asked.at(-1)).not.toHaveProperty('endedAt');
      await troupe.stop();
      troupe = await install({ config, data });
      expect(rowOf(troupe, 'c1')!.turns).toEqual(asked);
    };
    await troupe.run(TARGET, 'Good morning.', { channel: 'webchat' });
    await set(troupe, 'coder', 'paused');
    await talk(troupe, 'c1', 1);
    await reaches(troupe, 'c1', { delivered: true });
    await restarted(0);
    await set(troupe, 'planner', 'paused');
    await set(troupe, 'coder', 'active');
    await reaches(troupe, 'c1', { status: 'replying' });
    await set(troupe, 'coder', 'paused');
    await restarted(1);
    await set(troupe, 'planner', 'active');
    await reaches(troupe, 'c1', { status: 'announcing' });
    await restarted('announce');
    await set(troupe, 'coder', 'active');
    const row = await reaches(troupe, 'c1', { status: 'ended' });
    expect(row.turns.map(({ turn, status }) => [turn, status])).toEqual([
      [0, 'ok'],
      [1, 'ok'],
      ['announce', 'ok'],
    ]);
    expect((await runsOf(troupe, 'c1')).sort()).toEqual(['0', '1', 'announce']);
  }, 60_000);

  it('continues in the turn of the target', async () => {
    const data = scratchFolder();
    let troupe = await install({ config, data });
    await set(troupe, 'planner', 'paused');
    await talk(troupe, 'c1', 2);
    await reaches(troupe, 'c1', { status: 'replying' });
    await set(troupe, 'coder', 'paused');
    await set(troupe, 'planner', 'active');
    await eventually(() => expect(rowOf(troupe, 'c1')!.turns).toHaveLength(3));
    await troupe.stop();
    troupe = await install({ config, data });
    await set(troupe, 'coder', 'active');
    const row = await reaches(troupe, 'c1', { status: 'ended' });
    expect(row).toMatchObject({ end: 'turns', turns: [{}, {}, { turn: 2, status: 'ok' }] });
    expect((await runsOf(troupe, 'c1')).sort()).toEqual(['0', '1', '2']);
  }, 60_000);
});
