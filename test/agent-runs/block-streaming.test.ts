/** Blocks as configured, as a client of the gateway receives them while an agent answers. */
import { expect, it, onTestFinished } from 'vitest';
import { connected, MAIN } from '../channels/gateway/client.ts';
import { problemsOf } from '../runtime/config/folder.ts';
import { startModelServer } from '../servers/model-server.ts';
import { install, providerOf } from './installation.ts';

const API = 'anthropic-messages';
const FIRST = 'I look first. '.repeat(10).trim();

const blocksBy = async (defaults: object, wishes: object = {}) => {
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf(API, server) } },
      agents: { defaults: { thinkingLevel: 'high', ...defaults } },
    },
  });
  const client = await connected(troupe);
  onTestFinished(() => client.close());
  server.script(
    {
      kind: 'answer',
      reasoning: ['so ', 'then'],
      deltas: FIRST.split(/(?<= )/),
      calls: [{ id: 'call_1', name: 'calculate', args: { expression: '1+1' } }],
    },
    { kind: 'answer', deltas: ['It is ', 'two.'] },
  );
  const message = { sessionKey: MAIN, message: 'go', idempotencyKey: 'r', ...wishes };
  await client.call('chat.send', message);
  await client.chat('final');
  const steps = client.events('agent').flatMap(({ payload: { stream, data } }) => {
    if (stream === 'tool') return [`tool ${data.phase}`];
    if (stream !== 'block') return [];
    return [`${data.reasoning ? 'thought' : 'said'} ${data.text}`];
  });
  return steps;
};

it('text_end sends blocks of limited size before the tools run', {
  timeout: 60_000,
}, async () => {
  const steps = await blocksBy({
    blockStreamingDefault: 'on',
    blockStreamingBreak: 'text_end',
    blockStreamingChunk: { minChars: 20, maxChars: 60, breakPreference: 'sentence' },
    blockStreamingCoalesce: { idleMs: 0 },
  });
  const tool = steps.indexOf('tool start');
  expect(tool).toBeGreaterThan(2);
  for (const step of steps.slice(0, tool)) expect(step.length).toBeLessThanOrEqual(65);
  const words = steps.slice(0, tool).map((step) => step.replace(/^said /, ''));
  expect(words.join('')).toBe(FIRST);
  expect(steps.slice(tool)).toEqual(['tool start', 'tool result', 'said It is two.']);
});

it('message_end sends one block per message, after its reasoning', {
  timeout: 60_000,
}, async () => {
  const defaults = { blockStreamingDefault: 'on', blockStreamingBreak: 'message_end' };
  const steps = await blocksBy(defaults, { reasoning: true });
  expect(steps).toEqual([
    'thought so then',
    `said ${FIRST}`,
    'tool start',
    'tool result',
    'said It is two.',
  ]);
});

it('no block is sent by default', { timeout: 60_000 }, async () => {
  expect(await blocksBy({})).toEqual(['tool start', 'tool result']);
});

it('the configuration check refuses invalid block settings', () => {
  const text = `{ agents: { defaults: {
    blockStreamingBreak: 'word_end',
    blockStreamingChunk: { minChars: 0 },
  } } }`;
  const places = problemsOf(text).map(({ message }) => message);
  expect(places).toHaveLength(2);
  const crossed = `{ agents: { defaults: {
    blockStreamingChunk: { minChars: 900, maxChars: 800 },
    blockStreamingCoalesce: { minChars: 5000 },
  } } }`;
  expect(problemsOf(crossed).map(({ message }) => message)).toEqual([
    'is 900, more than maxChars, which is 800',
    'is 5000, more than maxChars, which is 4000',
  ]);
});
