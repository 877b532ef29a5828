/** When effects of a run started and ended, and who decided its questions. */
import { expect, it } from 'vitest';
import { effectsOf } from '../../../operations/run-trace/recorded-effects.ts';
import { traceOf } from '../../../operations/run-trace/trace-of.ts';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import { durationText, timelineOf } from '../../../web/operations/run/geometry.ts';
import { ended, MAIN, readerOf, runRow, said, tool, user } from './traced.ts';

const turn = (at: number, input: string, more: Partial<ActorTurn> = {}): ActorTurn => ({
  turn: at,
  at,
  input,
  result: 'applied',
  sent: [],
  opened: [],
  ended: [],
  ...more,
});
const starts = (at: number, ...opened: string[]) => turn(at, 'session.receive', { opened });
const ends = (at: number, effect: string, kind = 'done', opened: string[] = []) =>
  turn(at, `outcome of ${effect}: ${kind}`, { ended: [effect], opened });
const RUN = { startedAt: 100, endedAt: 1_000 };

it('an effect has the times of the turns that requested and ended it', () => {
  const turns = [starts(100, 'callModel'), ends(300, 'callModel', 'done', ['callTools'])];
  expect(effectsOf('S1', turns, RUN)).toEqual([
    {
      in: 'S1',
      effect: 'callModel',
      startedAt: 100,
      endedAt: 300,
      failed: false,
      attempt: 1,
    },
    { in: 'S1', effect: 'callTools', startedAt: 300, failed: false, attempt: 1 },
  ]);
});

it('an effect that follows a failure of the same kind is a further attempt', () => {
  const turns = [
    starts(100, 'callModel'),
    ends(200, 'callModel', 'failed'),
    turn(400, 'timer retryBackoff', { opened: ['callModel'] }),
    ends(500, 'callModel', 'done', ['callModel']),
    ends(600, 'callModel'),
  ];
  expect(effectsOf('S1', turns, RUN).map(({ attempt, failed }) => [attempt, failed])).toEqual([
    [1, true],
    [2, false],
    [1, false],
  ]);
});

it('effects of other runs, and those that send the answer, are left out', () => {
  const turns = [
    starts(10, 'callModel'),
    ends(50, 'callModel', 'done', ['reply']),
    ends(150, 'reply'),
    starts(1_500, 'callModel'),
    ends(1_600, 'callModel'),
  ];
  expect(effectsOf('S1', turns, RUN)).toEqual([]);
});

it('a trace has effects, questions with who decided them, and cost; the timeline draws them', async () => {
  const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.002 };
  const approval = {
    id: 'r1.c0',
    by: `default/session/${MAIN}`,
    asked_at: new Date(1_300).toISOString(),
    title: 'rm -r build',
    state: 'allowed',
    decision: 'allow-once',
    decided_by: 'ada',
    decided_at: new Date(1_500).toISOString(),
  } as const;
  const trace = await traceOf(
    readerOf({
      runs: [runRow('r1', MAIN, { acceptedAt: 1_000, startedAt: 1_000, endedAt: 3_000 })],
      entries: {
        [MAIN]: [
          user('r1', 1_000, 'clean'),
          said('r1', 1_300, '', { calls: [{ id: 'c0', name: 'exec', args: {} }], usage }),
          tool('r1', 2_500, 'exec', 'gone'),
          said('r1', 3_000, 'done', { usage }),
          ended('r1', 3_000),
        ],
      },
      turns: {
        [MAIN]: [
          starts(1_000, 'callModel'),
          ends(1_300, 'callModel'),
          turn(2_000, 'reply', { opened: ['callOnce'] }),
          ends(2_500, 'callOnce', 'done', ['callModel']),
          ends(3_000, 'callModel'),
        ],
      },
      approvals: [approval, { ...approval, id: 'other', by: 'default/session/agent:other' }],
    }),
    'r1',
  );
  expect(trace.approvals).toMatchObject([
    { id: 'r1.c0', at: 1_300, state: 'allowed', decidedBy: 'ada', decidedAt: 1_500 },
  ]);
  const models = trace.steps.filter(({ kind }) => kind === 'model');
  expect(models).toMatchObject([{ costUsd: 0.002 }, { costUsd: 0.002 }]);
  const { bars } = timelineOf(trace);
  // The tool waited for its approval until 2,000: its bar begins there, not at 1,300.
  expect(bars.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['model', 0, 0.15],
    ['tool', 0.5, 0.75],
    ['model', 0.75, 1],
  ]);
  expect(trace.steps[bars[1]!.at]).toMatchObject({ kind: 'tool', name: 'exec' });
});

it('a duration has at most 59 seconds beside its minutes', () => {
  expect([12, 59_900, 119_400, 119_700, 3_600_000].map(durationText)).toEqual([
    '12 ms',
    '59.9 s',
    '1 min 59 s',
    '2 min 0 s',
    '60 min 0 s',
  ]);
});
