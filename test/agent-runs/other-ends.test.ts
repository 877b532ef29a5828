/**
 * Runs that end without an answer, with a model behind a real SDK: aborted by a user, by a time-
 * out, by a limit, by a newer message; and a process that is restarted in the middle. Each run ends
 * once, and none of its work continues.
 */
import { expect, it, onTestFinished } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import type { RunRow } from '../../protocols/session.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { shapes, startModelServer } from '../servers/model-server.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { install, providerOf } from './installation.ts';

const API = 'openai-responses';
const MAIN = 'agent:main:main';
const PERSON = { sub: 'ada', roles: ['operator'] };

const opened = async (agents: object = {}, data = scratchFolder()) => {
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const config = {
    models: { providers: { p: providerOf(API, server) } },
    agents: { defaults: agents },
  };
  const open = () => install({ config, data });
  return { server, open, troupe: await open() };
};

const stall: Plan = { kind: 'stall', deltas: ['Let me think', ' about it'] };
const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });

it('a stopped run ends as aborted, and its model request is cancelled', async () => {
  const { server, troupe } = await opened();
  server.script(stall);
  const runId = await troupe.send(MAIN, 'think long');
  await eventually(() => expect(JSON.stringify(troupe.events(MAIN))).toContain('about it'));
  const stop = { type: 'session.abort', runId };
  const options = { principal: PERSON, timeoutMs: 10_000 };
  const answer = await troupe.system.ask(sessionAddress('default', MAIN), stop, options);
  expect(answer).toMatchObject({ result: { aborted: [runId] } });
  const { row, answers } = await troupe.end(MAIN, runId);
  expect(row.status).toBe('aborted');
  expect(answers).toEqual([]);
  await eventually(() => expect(server.requests[0]?.aborted).toBe(true));
  server.script(says('Here I am.'));
  expect((await troupe.run(MAIN, 'are you there?')).row.text).toBe('Here I am.');
});

it('a run past its time limit reports it, and its model request is cancelled', async () => {
  const { server, troupe } = await opened();
  server.script(stall);
  const { row } = await troupe.run(MAIN, 'think long', { timeoutMs: 700 });
  expect(row).toMatchObject({ status: 'timeout', error: { code: 'DEADLINE_EXCEEDED' } });
  expect(row.text).toContain('700 ms');
  await eventually(() => expect(server.requests[0]?.aborted).toBe(true));
});

it('an interrupting message ends the active run and is answered itself', async () => {
  const { server, troupe } = await opened();
  server.script(stall, says('At once.'));
  const first = await troupe.send(MAIN, 'think long');
  await eventually(() => expect(server.requests).toHaveLength(1));
  const second = await troupe.send(MAIN, 'now!', { queue: 'interrupt' });
  expect((await troupe.end(MAIN, first)).row.status).toBe('aborted');
  expect((await troupe.end(MAIN, second)).row).toMatchObject({ status: 'ok', text: 'At once.' });
  expect(server.requests).toHaveLength(2);
});

it('collected messages share one run, whose end is published for each', async () => {
  const { server, troupe } = await opened();
  server.script({ kind: 'answer', deltas: ['First.'], thinkMs: 300 }, says('Both of you.'));
  const first = await troupe.send(MAIN, 'begin');
  const sent = [];
  for (const sender of ['Ann', 'Bob'])
    sent.push(await troupe.send(MAIN, `I am ${sender}`, { queue: 'collect', sender }));
  expect((await troupe.end(MAIN, first)).row.text).toBe('First.');
  const { row, entries } = await troupe.end(MAIN, sent[0]!);
  expect(row).toMatchObject({ status: 'ok', text: 'Both of you.' });
  expect(entries[0]).toMatchObject({ type: 'user' });
  expect(JSON.stringify(entries[0])).toMatch(/Ann: I am Ann.*Bob: I am Bob/);
  const other = troupe.system.index.get<RunRow>('runs', 'default', sent[1]!);
  expect(other).toMatchObject({ status: 'ok', joined: sent[0], text: 'Both of you.' });
  expect(server.requests).toHaveLength(2);
});

it('a model that repeats itself gets a warning, and is stopped when it continues', async () => {
  const { server, troupe } = await opened();
  let n = 0;
  server.otherwise(() => ({
    kind: 'answer',
    calls: [{ id: `call_${++n}`, name: 'calculate', args: { expression: '6*7' } }],
  }));
  const { row, results } = await troupe.run(MAIN, 'what is it?');
  expect(row).toMatchObject({
    status: 'error',
    error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'identicalCallsMax' } },
  });
  expect(results.map(({ result }) => result).slice(0, 4)).toEqual(['42', '42', '42', '42']);
  expect(results.slice(4).every(({ result }) => result.includes('Do something else'))).toBe(true);
  expect(results).toHaveLength(8);
});

const CEILINGS: readonly [string, object, number][] = [
  ['turnsMax', { turnsMax: 3 }, 3],
  ['tokensPerRun', { tokensPerRun: 36 }, 2],
  // each call costs 92 millionths of a dollar
  ['costPerRunUsd', { costPerRunUsd: 0.0002 }, 3],
  ['tokensPerSession', { tokensPerSession: 54 }, 3],
];

it.each(CEILINGS)(
  'a run that reaches %s stops before the next call',
  async (limit, limits, max) => {
    const { server, troupe } = await opened({ limits });
    let n = 0;
    server.otherwise(() => ({
      kind: 'answer',
      calls: [{ id: `call_${++n}`, name: 'calculate', args: { expression: `${n}+1` } }],
    }));
    const { row } = await troupe.run(MAIN, 'count on and on');
    expect(row).toMatchObject({
      status: 'error',
      error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit } },
      usage: { inputTokens: 11 * max, outputTokens: 7 * max },
    });
    expect(row.error?.message).toContain(limit);
    expect(server.requests).toHaveLength(max);
  },
);

it('a run continues after its process restarted, and its answer is streamed from offset 0', async () => {
  const { server, troupe, open } = await opened();
  const call = { id: 'call_1', name: 'calculate', args: { expression: '6*7' } };
  server.script({ kind: 'answer', deltas: ['I look. '], calls: [call] }, stall);
  const runId = await troupe.send(MAIN, 'what is it?');
  await eventually(() => expect(JSON.stringify(troupe.events(MAIN))).toContain('about it'));
  // overloaded until a client subscribes
  let watched = false;
  server.otherwise(() => (watched ? says('It is 42.') : shapes.overload));
  await troupe.stop();

  const again = await open();
  again.events(MAIN);
  watched = true;
  const row = await eventually(() => {
    const found = again.system.index.get<RunRow>('runs', 'default', runId);
    expect(found?.endedAt).toBeDefined();
    return found;
  });
  expect(row).toMatchObject({ runId, status: 'ok', text: 'It is 42.' });
  const ended = again.events(MAIN).filter((event) => event.stream === 'assistant');
  expect(ended[0]).toMatchObject({ call: 1, offset: 0 });
  // the tool's result was committed: it does not run again
  await eventually(async () => {
    const types = (await again.transcript(MAIN)).map(({ type }) => type);
    expect(types).toEqual(['user', 'prompt', 'assistant', 'tool', 'assistant', 'run.end']);
  });
  expect(again.sessionRow(MAIN)?.usage).toMatchObject({ inputTokens: 22, outputTokens: 14 });
});
