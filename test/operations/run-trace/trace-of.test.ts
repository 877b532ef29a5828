/** The steps of a run's trace and their order. */
import { expect, it } from 'vitest';
import { traceOf } from '../../../operations/run-trace/trace-of.ts';
import { TRACE_STEPS_MAX, type RunTrace, type TraceStep } from '../../../protocols/run-trace.ts';
import type { MessageOrigin } from '../../../protocols/session.ts';
import {
  asks,
  CHILD,
  type Committed,
  conversationRow,
  ended,
  MAIN,
  OTHER,
  readerOf,
  runRow,
  said,
  subagentRow,
  tool,
  user,
} from './traced.ts';

const traced = (committed: Committed, runId = 'r1', depth?: number) =>
  traceOf(readerOf(committed), runId, depth);

/** Steps in short: `S1→S2 text`, with names instead of ids. */
const short = ({ steps, participants }: RunTrace): readonly string[] => {
  const name = (id: string) => participants.find((part) => part.id === id)!.name;
  const place = (step: TraceStep) =>
    step.kind === 'message' || step.kind === 'result'
      ? `${name(step.from)}→${name(step.to)}`
      : step.kind === 'end' && step.to !== undefined
        ? `${name(step.in)}→${name(step.to)}`
        : name(step.in);
  return steps.map((step) => `${step.kind} ${place(step)}${'text' in step ? ` ${step.text}` : ''}`);
};

const from = (
  kind: MessageOrigin['kind'],
  sessionKey: string,
  ...ids: string[]
): { origin: MessageOrigin } => ({ origin: { kind, sessionKey, ids } });

it('the trace of one session contains its message, calls, tools and answer', async () => {
  const trace = await traced({
    runs: [runRow('r1')],
    entries: {
      [MAIN]: [
        user('earlier', 500, 'hello'),
        user('r1', 1_000, 'what is\nthere?', { sender: 'ada' }),
        said('r1', 1_010, '', { calls: [{ id: 'c', name: 'read', args: {} }], node: 'w1' }),
        tool('r1', 1_020, 'read', 'no such file', true),
        user('r2', 1_025, 'another message'),
        said('r1', 1_030, 'Nothing.', { node: 'w2' }),
        ended('r1', 1_031),
      ],
    },
  });
  expect(short(trace)).toEqual([
    'message ada→main:main what is there?',
    'model main:main',
    'tool main:main no such file',
    'model main:main',
    'end main:main→ada Nothing.',
  ]);
  expect(trace.participants[1]).toMatchObject({ sessionKey: MAIN, nodes: ['w1', 'w2'] });
  expect(trace.left).toEqual({ steps: 0, deeper: 0, sessions: [] });
});

const exchange: Committed = {
  runs: [runRow('r1')],
  conversations: [
    conversationRow('k', {
      turns: [
        { turn: 0, sessionKey: OTHER, runId: 't0', at: 1_030 },
        { turn: 1, sessionKey: MAIN, runId: 't1', at: 1_060 },
        { turn: 'announce', sessionKey: OTHER, runId: 't2', at: 1_080 },
      ],
    }),
  ],
  entries: {
    [MAIN]: [
      user('r1', 1_000, 'ask work', { sender: 'ada' }),
      asks('r1', 1_010, 'sessions_send'),
      tool('r1', 1_055, 'sessions_send', { status: 'ok', reply: 'far' }),
      said('r1', 1_056, 'It is far.'),
      ended('r1', 1_057),
      user('t1', 1_060, 'turn 1', from('agent', OTHER, 'k')),
      // the clock of this worker is behind that of the other
      said('t1', 1_035, 'REPLY_SKIP'),
      ended('t1', 1_036),
    ],
    [OTHER]: [
      user('old', 900, 'old'),
      user('t0', 1_030, 'how far is it?', from('agent', MAIN, 'k')),
      said('t0', 1_040, 'far'),
      ended('t0', 1_041),
      user('t2', 1_080, 'announce?', from('announce', MAIN, 'k')),
      said('t2', 1_090, 'Main asked how far it is.'),
      ended('t2', 1_091),
    ],
  },
};

it('the trace of a conversation contains its message, its replies in order and the announcement', async () => {
  const trace = await traced(exchange);
  expect(short(trace)).toEqual([
    'message ada→main:main ask work',
    'model main:main',
    'message main:main→work:main how far is it?',
    'model work:main',
    'end work:main→main:main far',
    'tool main:main {"status":"ok","reply":"far"}',
    'model main:main',
    'end main:main→ada It is far.',
    'model main:main',
    'end main:main→work:main REPLY_SKIP',
    'model work:main',
    'end work:main→people of work:main Main asked how far it is.',
  ]);
  expect(trace.steps.at(-1)).toMatchObject({ announces: true });
  expect(trace.steps.at(-3)).toMatchObject({ silent: true });
});

it('the trace of a subagent contains its task, its run, its end and the report', async () => {
  const trace = await traced({
    runs: [runRow('r1')],
    subagents: [subagentRow('s', { label: 'finder' })],
    entries: {
      [MAIN]: [
        user('r1', 1_000, 'find it'),
        asks('r1', 1_010, 'sessions_spawn'),
        tool('r1', 1_030, 'sessions_spawn', { status: 'accepted' }),
        said('r1', 1_040, 'I let it be found.'),
        ended('r1', 1_041),
        // by its clock earlier than the end of the subagent that it reports
        user('r2', 1_500, 'results', from('subagents', MAIN, 's')),
        said('r2', 1_650, 'Found.'),
        ended('r2', 1_651),
      ],
      [CHILD]: [
        user('run of s', 1_100, 'look it up', from('task', MAIN, 's')),
        said('run of s', 1_590, 'under the sofa'),
        ended('run of s', 1_591),
      ],
    },
  });
  const child = 'main:subagent:1a2b3c4d';
  expect(short(trace)).toEqual([
    'message people of main:main→main:main find it',
    'model main:main',
    'tool main:main {"status":"accepted"}',
    'model main:main',
    'end main:main→people of main:main I let it be found.',
    `message main:main→${child} look it up`,
    `model ${child}`,
    `end ${child} under the sofa`,
    `result ${child}→main:main under the sofa`,
    'report main:main',
    'model main:main',
    'end main:main→people of main:main Found.',
  ]);
  expect(trace.participants.find(({ name }) => name === child)).toMatchObject({ label: 'finder' });
  expect(trace.steps.find(({ kind }) => kind === 'result')).toMatchObject({
    outcome: 'completed',
    tokens: 120,
    durationMs: 570,
  });
});

it('a report that joins another run adds that run to the trace from there on', async () => {
  const trace = await traced({
    runs: [runRow('r1')],
    subagents: [subagentRow('s', { status: 'killed', reason: 'stopped by ada' })],
    entries: {
      [MAIN]: [
        user('r1', 1_000, 'find it'),
        ended('r1', 1_010),
        user('r2', 1_700, 'and something else'),
        said('r2', 1_710, '', { calls: [{ id: 'c', name: 'read', args: {} }] }),
        user('r2', 1_720, 'results', { ...from('subagents', MAIN, 's'), of: 'r3' }),
        said('r2', 1_730, 'Both.'),
        ended('r2', 1_731),
      ],
    },
  });
  expect(short(trace).slice(2)).toEqual([
    'message main:main→main:subagent:1a2b3c4d look it up',
    'result main:subagent:1a2b3c4d→main:main stopped by ada',
    'report main:main',
    'model main:main',
    'end main:main→people of main:main Both.',
  ]);
  expect(trace.steps.find(({ kind }) => kind === 'report')).toMatchObject({ joins: true });
});

it('a refusal has its reason, whichever actor refused', async () => {
  const trace = await traced({
    runs: [runRow('r1')],
    conversations: [
      conversationRow('k', { end: 'refused', delivered: false, reason: 'it is full' }),
    ],
    subagents: [subagentRow('s', { status: 'refused', reason: 'maxSpawnDepth' })],
    entries: {
      [MAIN]: [
        user('r1', 1_000, 'go'),
        asks('r1', 1_010, 'sessions_send', 'sessions_spawn'),
        tool('r1', 1_020, 'sessions_send', { status: 'accepted' }),
        tool('r1', 1_021, 'sessions_spawn', { status: 'refused', rule: 'maxSpawnDepth' }),
        ended('r1', 1_030, 'error', 'the model is gone'),
      ],
    },
  });
  const refused = trace.steps.filter((step) => step.kind === 'refused');
  expect(refused.map(({ text, why }) => [text, why])).toEqual([
    ['how far is it?', 'it is full'],
    ['sessions_spawn', 'maxSpawnDepth'],
  ]);
  expect(trace.steps.at(-1)).toMatchObject({ status: 'error', text: 'the model is gone' });
});

it('the depth limits the search, and deeper messages and subagents are counted', async () => {
  const none = await traced(exchange, 'r1', 0);
  expect(none.left.deeper).toBe(1);
  expect(none.participants.map(({ name }) => name)).toEqual(['ada', 'main:main']);
  expect((await traced(exchange, 'r1', 1)).left.deeper).toBe(0);
});

it('a large trace is cut at the maximum number of steps, and counts the omitted ones', async () => {
  const calls = Array.from({ length: TRACE_STEPS_MAX + 20 }, (_, n) => said('r1', 1_000 + n, ''));
  const trace = await traced({
    runs: [runRow('r1')],
    entries: { [MAIN]: [user('r1', 1_000, 'go'), ...calls] },
    cut: [MAIN],
  });
  expect(trace.steps).toHaveLength(TRACE_STEPS_MAX);
  expect(trace.left).toEqual({ steps: 21, deeper: 0, sessions: [MAIN] });
});

it('a message that joined a run leads to that run, and an unknown run is not found', async () => {
  const entries = { [MAIN]: [user('r1', 1_000, 'a'), user('r1', 1_010, 'b', { of: 'r2' })] };
  const runs = [runRow('r1'), runRow('r2', MAIN, { joined: 'r1' })];
  const trace = await traced({ runs, entries }, 'r2');
  expect(trace.runId).toBe('r1');
  expect(trace.steps).toMatchObject([{ text: 'a' }, { text: 'b', joins: true, runId: 'r2' }]);
  await expect(traced({ runs, entries }, 'r9')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
