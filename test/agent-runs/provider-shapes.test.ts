/**
 * Each provider's real SDK with each shape that its answers have, at the level of a run: the user
 * receives one reply, which is the same over every protocol.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SessionRow } from '../../protocols/session.ts';
import { type ServedApi, shapes, startModelServer } from '../servers/model-server.ts';
import type { Plan, PlannedCall, ScriptedServer } from '../servers/scripted-server.ts';
import { install, type Installation, MODELS, open, PRICE, providerOf } from './installation.ts';
import type { EndedRun } from './published-events.ts';

const APIS = Object.keys(MODELS) as ServedApi[];
const SESSION = 'agent:main:main';
const TEXT = 'The actor reads mail.';

const calculate = (n: number, expression: string): PlannedCall => ({
  id: `call_${n}`,
  name: 'calculate',
  args: { expression },
});
const text: Plan = shapes.text;

/** The usage of one call, as the servers report it in each protocol. */
const CALL = { inputTokens: 11, outputTokens: 7 };
const costOf = (calls: number): number =>
  (calls * (CALL.inputTokens * PRICE.input + CALL.outputTokens * PRICE.output)) / 1e6;

type Case = {
  readonly plans: readonly Plan[];
  /** default TEXT */
  readonly reply?: string;
  /** of the answers in the transcript; default one good end */
  readonly stops?: readonly string[];
  readonly restarts?: number;
  readonly reasoning?: string;
  /** results of tools, in order */
  readonly results?: readonly string[];
};

const once = ['end'];
const CASES: Readonly<Record<string, Case>> = {
  'a text': { plans: [text] },
  thinking: { plans: [shapes.thinking], reasoning: 'so then' },
  'several tool calls': {
    plans: [
      {
        kind: 'answer',
        deltas: ['I look. '],
        calls: [calculate(1, '6*7'), calculate(2, '2^10'), calculate(3, '1/0')],
      },
      text,
    ],
    stops: ['tools', 'end'],
    results: ['42', '1024', expect.stringMatching(/divi/i) as string],
  },
  'a tool call split over events': {
    plans: [{ kind: 'answer', calls: [calculate(1, '1000000 + 234567')], pieces: 30 }, text],
    stops: ['tools', 'end'],
    results: ['1234567'],
  },
  'a tool call after thinking': {
    plans: [
      { kind: 'answer', reasoning: ['so ', 'then'], deltas: [], calls: [calculate(1, '6*7')] },
      text,
    ],
    stops: ['tools', 'end'],
    reasoning: 'so then',
    results: ['42'],
  },
  'slow bytes': {
    plans: [
      { kind: 'answer', deltas: ['Ünïcödé 漢字 '], calls: [calculate(1, '6*7')], bytesAtOnce: 3 },
      { ...shapes.text, bytesAtOnce: 3 },
    ],
    stops: ['tools', 'end'],
    results: ['42'],
  },
  'a refusal': { plans: [shapes.refusal], reply: 'I cannot', stops: ['refusal'] },
  'the end of its tokens': { plans: [shapes['max tokens']], stops: ['length'] },
  'an overload, and then an answer': { plans: [shapes.overload, text] },
  'an overload in the stream, and then an answer': {
    plans: [
      { ...shapes['overload in the stream'], deltas: ['The wrong ', 'beginning, ', 'and long'] },
      text,
    ],
    restarts: 1,
  },
  'a cut stream, and then an answer': { plans: [shapes['cut stream'], text], restarts: 1 },
  'a stream without its end, and then an answer': {
    plans: [shapes['stream without its end'], text],
    restarts: 1,
  },
  'a cut stream, and then nothing but a call': {
    plans: [
      { kind: 'cut', deltas: ['I shall answer ', 'at once: '] },
      { kind: 'answer', calls: [calculate(1, '6*7')] },
      text,
    ],
    stops: ['tools', 'end'],
    restarts: 1,
    results: ['42'],
  },
  'thinking that is cut, and then an answer without a thought': {
    plans: [{ kind: 'cut', deltas: [], reasoning: ['so ', 'then'] }, text],
    reasoning: '',
  },
  'an answer without text': {
    plans: [{ kind: 'answer', deltas: [] }],
    reply: '',
  },
  'a refusal without text': {
    plans: [{ kind: 'answer', deltas: [], stop: 'refusal' }],
    reply: 'The model refused to answer. Rephrase the message, or choose another model.',
    stops: ['refusal'],
  },
  'the end of its tokens before the first word': {
    plans: [{ kind: 'answer', reasoning: ['hm'], deltas: [], stop: 'length' }],
    reply: expect.stringContaining('reached its token limit') as string,
    stops: ['length'],
    reasoning: 'hm',
  },
  'a call of an unknown tool': {
    plans: [{ kind: 'answer', calls: [{ id: 'call_1', name: 'teleport', args: {} }] }, text],
    stops: ['tools', 'end'],
    results: [expect.stringMatching(/teleport/) as string],
  },
  'a call whose arguments are wrong': {
    plans: [
      { kind: 'answer', calls: [{ id: 'call_1', name: 'calculate', args: { sum: 1 } }] },
      text,
    ],
    stops: ['tools', 'end'],
    results: [expect.stringMatching(/expression/) as string],
  },
};

const configOf = (api: ServedApi, server: ScriptedServer) => ({
  models: { providers: { p: providerOf(api, server) } },
  // the session of a case is not the main one, which alone has no sandbox by default
  agents: { defaults: { thinkingLevel: 'high', sandbox: { mode: 'none' } } },
});

const opened = async (api: ServedApi) => {
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  return { server, troupe: await install({ config: configOf(api, server) }) };
};

describe.each(APIS)('a run on %s', (api) => {
  // one installation for all cases, each of which has a session: its start costs more than a run
  const data = mkdtempSync(join(tmpdir(), 'troupe-shapes-'));
  let served: { readonly server: ScriptedServer; readonly troupe: Installation } | undefined;
  beforeAll(async () => {
    const server = await startModelServer({ api });
    served = { server, troupe: await open({ config: configOf(api, server), data }) };
  });
  afterAll(async () => {
    await served?.troupe.stop();
    await served?.server.close();
    rmSync(data, { recursive: true, force: true });
  });

  it.each(Object.keys(CASES))('that meets %s ends with one reply', async (name) => {
    const {
      plans,
      reply = TEXT,
      stops = once,
      restarts = 0,
      results = [],
      reasoning,
    } = CASES[name]!;
    const { server, troupe } = served!;
    const session = `agent:main:${name.replaceAll(/\W+/g, '-')}`;
    const before = server.requests.length;
    server.script(...plans);
    const ended = await troupe.run(session, 'what is it?');
    expect(ended.row).toMatchObject({ status: 'ok', text: reply, model: `p/${MODELS[api]}` });
    expect(ended.answers.map(({ stop }) => stop)).toEqual(stops);
    expect(ended.results.map(({ result }) => result)).toEqual(results);
    expect(ended.restarts).toBe(restarts);
    expect(server.requests).toHaveLength(before + plans.length);
    if (reasoning !== undefined) {
      expect(ended.reasoning[0]).toBe(reasoning);
      expect(ended.answers[0]?.reasoning ?? '').toBe(reasoning);
    }
    counted(ended, troupe.sessionRow(session));
    inOrder(ended);
    if (results.length > 0) sentBack(server, ended);

    // the provider accepts the conversation in every case
    server.otherwise(text);
    const next = await troupe.run(session, 'and then?');
    expect(next.row).toMatchObject({ status: 'ok', text: TEXT });
    expect(server.requests).toHaveLength(before + plans.length + 1);
  });

  it('waits as long as a rate limit requires, and then answers', async () => {
    const { server, troupe } = await opened(api);
    const asked: number[] = [];
    server.otherwise(() => {
      asked.push(performance.now());
      return asked.length > 1
        ? text
        : { kind: 'refuse', status: 429, headers: { 'retry-after': '2' } };
    });
    const ended = await troupe.run(SESSION, 'what is it?');
    expect(ended.row).toMatchObject({ status: 'ok', text: TEXT });
    expect(asked).toHaveLength(2);
    // the first delay, if the provider names none, is one second
    expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(1_990);
  });

  it('ends once, with advice, when the key is refused', async () => {
    const { server, troupe } = await opened(api);
    server.script({ kind: 'refuse', status: 401, type: 'authentication_error' });
    const { row } = await troupe.run(SESSION, 'what is it?');
    expect(row).toMatchObject({ status: 'error', error: { code: 'UNAUTHORIZED' } });
    expect(row.error?.message).toContain('models.providers.p');
    expect(JSON.stringify(row)).not.toContain('key-of-the-test');
    expect(server.requests).toHaveLength(1);
  });
});

/** The row, the session and the transcript have the same usage. */
function counted({ row, answers }: EndedRun, session: SessionRow | undefined): void {
  const n = answers.length;
  const usage = { inputTokens: n * CALL.inputTokens, outputTokens: n * CALL.outputTokens };
  const costUsd = expect.closeTo(costOf(n), 12) as number;
  expect(row.usage).toEqual({ ...usage, costUsd });
  expect(session).toMatchObject({
    status: 'idle',
    usage: { ...usage, costUsd },
  });
}

/**
 * The order of events: each answer is published before its tools run, each tool before the next
 * answer.
 */
function inOrder({ events, entries, answers }: EndedRun): void {
  const calls = events.flatMap((event) => (event.stream === 'assistant' ? [event.call] : []));
  expect(calls).toEqual(calls.toSorted((a, b) => a - b));
  const types = entries.map(({ type }) => type).filter((type) => type !== 'tool');
  expect(types).toEqual(['user', 'prompt', ...answers.map(() => 'assistant'), 'run.end']);
  const ends = events.findLastIndex(({ stream }) => stream === 'tool');
  const last = events.findIndex(
    (event) => event.stream === 'assistant' && event.call === answers.length - 1,
  );
  if (ends >= 0) expect(ends).toBeLessThan(last);
}

/** The model read each result, marked as external content. */
function sentBack(server: ScriptedServer, { results }: EndedRun): void {
  const body = JSON.stringify(server.requests.at(-1)?.body);
  for (const { result, name } of results) {
    expect(body).toContain(
      JSON.stringify(result).slice(1, -1).replaceAll('\\', '\\\\').slice(0, 20),
    );
    expect(body).toContain(`source=\\"${name}\\"`);
  }
}
