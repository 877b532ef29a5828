/**
 * What was published about one ended run, and the rules that hold for every run, however it ended:
 * events in order with one start and one end, deltas that make up each answer, tools that start
 * before they end, one transcript with one end, and one account of usage.
 */
import { expect } from 'vitest';
import type { RunEvent, RunRow, SessionEntry, Usage } from '../../protocols/session.ts';

type Of<Type extends SessionEntry['type']> = Extract<SessionEntry, { type: Type }>;
type ToolEvent = Extract<RunEvent, { stream: 'tool' }>;

type Facts = {
  readonly row: RunRow;
  /**
   * of the run, in the order in which they were published, without those of its subagents: these
   * publish them under the run themselves, also after its end
   */
  readonly events: readonly RunEvent[];
  /** of the run, in the order of the transcript */
  readonly entries: readonly SessionEntry[];
};

export type EndedRun = Facts & {
  readonly answers: readonly Of<'assistant'>[];
  readonly results: readonly Of<'tool'>[];
  /** what a subscriber has of each model call at the end, by the rule of `offset` */
  readonly watched: readonly string[];
  /** the same of its reasoning */
  readonly reasoning: readonly string[];
  /** deltas that restarted an answer after others of the same call */
  readonly restarts: number;
};

const all = <Type extends SessionEntry['type']>(facts: Facts, type: Type): Of<Type>[] =>
  facts.entries.filter((entry): entry is Of<Type> => entry.type === type);

/** @throws when one of the rules is broken */
export function checkedRun(facts: Facts): EndedRun {
  const answers = all(facts, 'assistant').filter(({ of }) => of === undefined);
  const results = all(facts, 'tool');
  const text = rebuilt(facts.events, 'assistant');
  const received: EndedRun = {
    ...facts,
    answers,
    results,
    watched: text.calls,
    reasoning: rebuilt(facts.events, 'reasoning').calls,
    restarts: text.restarts,
  };
  checkLifecycle(received);
  checkTranscript(received);
  checkTools(received);
  checkUsage(received);
  return received;
}

/** As a subscriber does it: a delta at a lower offset replaces the text from that position on. */
function rebuilt(events: readonly RunEvent[], stream: 'assistant' | 'reasoning') {
  const calls: string[] = [];
  let restarts = 0;
  for (const event of events) {
    if (event.stream === 'compaction') calls.splice(event.call);
    if (event.stream !== stream) continue;
    const before = calls[event.call] ?? '';
    expect(event.offset, 'no delta leaves a gap').toBeLessThanOrEqual(before.length);
    if (event.offset < before.length) {
      expect(event.offset, 'a repeated answer starts at offset 0').toBe(0);
      restarts++;
    }
    calls[event.call] = before.slice(0, event.offset) + event.delta;
  }
  return { calls: Array.from(calls, (call) => call ?? ''), restarts };
}

function checkLifecycle({ row, events }: EndedRun): void {
  const phases = events.flatMap((event) => (event.stream === 'lifecycle' ? [event.phase] : []));
  const isGood = row.status === 'ok' || row.status === 'aborted';
  expect(phases, 'one start, one end').toEqual(['start', isGood ? 'end' : 'error']);
  expect(events[0]).toMatchObject({ stream: 'lifecycle', phase: 'start' });
  expect(events.at(-1)).toMatchObject({
    stream: 'lifecycle',
    status: row.status,
    ...(isGood ? { text: row.text ?? '', usage: row.usage } : { error: row.error }),
  });
}

function checkTranscript(received: EndedRun): void {
  const { entries, row, answers, watched } = received;
  expect(entries[0]).toMatchObject({ type: 'user', runId: row.runId });
  expect(all(received, 'run.end')).toEqual([entries.at(-1)]);
  expect(entries.at(-1)).toMatchObject({ type: 'run.end', status: row.status });
  const texts = answers.map(({ text }) => text);
  // a call that failed permanently has deltas and no answer
  const whole = row.status === 'ok' ? watched : watched.slice(0, texts.length);
  expect(padded(whole, texts.length), 'the deltas make up the answers').toEqual(texts);
  for (const { calls = [] } of answers) {
    const got = received.results.filter(({ callId }) => calls.some(({ id }) => id === callId));
    const ids = calls.map(({ id }) => id);
    // a run that ends in another way may end before its last calls
    const isCut = row.status !== 'ok' && calls === answers.at(-1)?.calls;
    expect(got.map(({ callId }) => callId)).toEqual(isCut ? ids.slice(0, got.length) : ids);
  }
  if (row.status === 'ok')
    expect(answers.at(-1)?.calls, 'the last answer is final').toBeUndefined();
}

/** A call without text has no delta. */
const padded = (calls: readonly string[], length: number): string[] =>
  Array.from({ length: Math.max(length, calls.length) }, (_, call) => calls[call] ?? '');

function checkTools({ events, results }: EndedRun): void {
  const tools = events.filter((event): event is ToolEvent => event.stream === 'tool');
  const ended = tools.flatMap((event) => (event.phase === 'end' ? [event.callId] : []));
  expect(ended.toSorted()).toEqual(results.map(({ callId }) => callId).toSorted());
  for (const { callId, result, isError, name } of results) {
    const of = tools.filter((event) => event.callId === callId);
    expect(of.at(-1)).toMatchObject({ phase: 'end', name, result, isError });
    const starts = of.filter(({ phase }) => phase === 'start');
    expect(starts.length, 'a call begins once at most').toBeLessThanOrEqual(1);
  }
}

function checkUsage({ row, answers }: EndedRun): void {
  const usages = answers.flatMap(({ usage }) => (usage ? [usage] : []));
  const { inputTokens, outputTokens, costUsd } = usages.reduce(sum, NOTHING);
  // compactions use further tokens, which no entry contains
  expect(row.usage?.inputTokens).toBeGreaterThanOrEqual(inputTokens);
  expect(row.usage?.outputTokens).toBeGreaterThanOrEqual(outputTokens);
  expect(row.usage?.costUsd ?? 0).toBeGreaterThanOrEqual(costUsd! - 1e-12);
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0),
});
