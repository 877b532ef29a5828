/**
 * A model provider on 127.0.0.1 that always answers in one shape that the real providers send, in
 * each of their protocols. Used by the table of shapes, and by benchmarks that need a model of
 * known speed behind the real SDKs.
 */
import { startAnthropicServer } from './anthropic-server.ts';
import { startGoogleServer } from './google-server.ts';
import { startOpenAiServer } from './openai-server.ts';
import type { Plan, ScriptedServer } from './scripted-server.ts';

export type ServedApi =
  | 'anthropic-messages'
  | 'openai-responses'
  | 'openai-completions'
  | 'google-generative-ai';

const starts: Readonly<Record<ServedApi, () => Promise<ScriptedServer>>> = {
  'anthropic-messages': startAnthropicServer,
  'openai-responses': startOpenAiServer,
  'openai-completions': startOpenAiServer,
  'google-generative-ai': startGoogleServer,
};

const deltas = ['The ', 'actor ', 'reads ', 'mail.'];
const args = { expression: '2+2', note: 'a “quoted” word, and\na line' };
const call = (n: number) => ({ id: `call_${n}`, name: 'calculate', args: { ...args, n } });

export const shapes = {
  text: { kind: 'answer', deltas },
  thinking: { kind: 'answer', reasoning: ['so ', 'then'], deltas },
  'several tool calls': {
    kind: 'answer',
    deltas: ['I look. '],
    calls: [call(1), call(2), call(3)],
  },
  'tool call split over events': { kind: 'answer', calls: [call(1)], pieces: 40 },
  refusal: { kind: 'answer', deltas: ['I cannot '], stop: 'refusal' },
  'max tokens': { kind: 'answer', deltas, stop: 'length' },
  'slow bytes': { kind: 'answer', deltas, calls: [call(1)], bytesAtOnce: 3 },
  overload: { kind: 'refuse', status: 503, type: 'overloaded_error', message: 'Overloaded' },
  'overload by 529': {
    kind: 'refuse',
    status: 529,
    type: 'overloaded_error',
    message: 'Overloaded',
  },
  'overload in the stream': {
    kind: 'errorEvent',
    deltas,
    type: 'overloaded_error',
    message: 'Overloaded',
  },
  'rate limit': { kind: 'refuse', status: 429, headers: { 'retry-after': '7' } },
  'cut stream': { kind: 'cut', deltas },
  'stream without its end': { kind: 'endEarly', deltas },
} as const satisfies Record<string, Plan>;
export type Shape = keyof typeof shapes;

export type ModelServerOptions = {
  readonly api: ServedApi;
  /** default `text` */
  readonly shape?: Shape;
  /** time from a request to the first event, milliseconds; default 0 */
  readonly delayMs?: number;
};

export const startModelServer = async ({
  api,
  shape = 'text',
  delayMs = 0,
}: ModelServerOptions): Promise<ScriptedServer> => {
  const server = await starts[api]();
  const plan: Plan = shapes[shape];
  server.otherwise(plan.kind === 'answer' ? { ...plan, thinkMs: delayMs } : plan);
  return server;
};
