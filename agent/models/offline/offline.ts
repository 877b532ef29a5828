/**
 * The offline model: included in troupe, needs no key and no network, and is the default until a
 * key is configured. Its texts say that it does not think. The answer is a pure function of the
 * request (reply.ts). This file streams it at the configured pace through the loop of the real
 * providers, so abort, idle limit and errors are the same.
 */
import { setImmediate } from 'node:timers/promises';
import type { Answer } from '../answer.ts';
import { MalformedEvent } from '../answer.ts';
import type { FailureContext } from '../failure.ts';
import type { ModelInfo, ModelProvider } from '../model.ts';
import type { Reply } from './reply.ts';
import { type CallClock, streamAnswer, type Wire } from '../stream.ts';

export const offlineModel: ModelInfo = {
  id: 'troupe-offline',
  contextWindow: 200_000,
  maxTokens: 200_000,
};

/** Tokens per second: slow enough to be visible, fast enough to read along. */
export const offlineTokensPerSecond = 200;

/** Without a pace, the stream yields to other work after this number of tokens. */
const tokensPerTurn = 64;

export type OfflineOptions = {
  /** default `offline` */
  readonly id?: string;
  /** default 200; 0 = as fast as possible */
  readonly tokensPerSecond?: number;
  readonly clock: CallClock;
};

type OfflineEvent =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly end: Reply }
  | 'malformed';

export const createOfflineProvider = (options: OfflineOptions): ModelProvider => {
  const { id = 'offline', clock, tokensPerSecond = offlineTokensPerSecond } = options;
  const context: FailureContext = {
    provider: id,
    keyPath: `models.providers.${id}`,
    secrets: [],
    wallMs: () => clock.wallMs(),
  };
  return {
    id,
    models: [offlineModel],
    stream(request, streamOptions) {
      const wire: Wire<OfflineEvent> = {
        open: async (signal) => {
          const { replyTo } = await import('./reply.ts');
          const reply = replyTo(request);
          if (reply.fault?.kind === 'fail') throw reply.fault.error;
          const pace = reply.tokensPerSecond ?? tokensPerSecond;
          return play(reply, (at) => pause(at, pace, clock, signal), signal);
        },
        read: readEvent,
      };
      return streamAnswer(wire, streamOptions, context, clock);
    },
  };
};

async function* play(
  reply: Reply,
  rest: (at: number) => Promise<void> | undefined,
  signal: AbortSignal,
): AsyncGenerator<OfflineEvent> {
  const fault = reply.fault?.kind === 'fail' ? undefined : reply.fault;
  const tokens: OfflineEvent[] = [
    ...reply.reasoning.map((reasoning) => ({ reasoning })),
    ...reply.tokens.map((text) => ({ text })),
  ];
  for (const [at, token] of tokens.entries()) {
    if (at === fault?.afterTokens) break;
    await rest(at);
    yield token;
  }
  if (fault?.kind === 'cut') return;
  if (fault?.kind === 'stall') await aborted(signal);
  yield fault?.kind === 'malformed' ? 'malformed' : { end: reply };
}

/** Without a pace there is usually nothing to wait for. */
const pause = (
  at: number,
  tokensPerSecond: number,
  clock: CallClock,
  signal: AbortSignal,
): Promise<void> | undefined => {
  if (tokensPerSecond > 0) return delay(1_000 / tokensPerSecond, clock, signal);
  return at % tokensPerTurn === tokensPerTurn - 1 ? setImmediate() : undefined;
};

const delay = (delayMs: number, clock: CallClock, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal.addEventListener('abort', finish, { once: true });
  });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const readEvent = (event: OfflineEvent, answer: Answer): void => {
  if (event === 'malformed') throw new MalformedEvent('the message asked for a broken event');
  if ('reasoning' in event) answer.reasoning(event.reasoning);
  else if ('text' in event) answer.text(event.text);
  else {
    const { calls, stop, inputTokens, tokens, reasoning } = event.end;
    for (const [at, { id, name, args }] of calls.entries()) {
      answer.openCall(at, id, name);
      answer.wholeCallArgs(at, JSON.stringify(args));
    }
    answer.usage({ inputTokens, outputTokens: tokens.length + reasoning.length });
    answer.stop(stop);
    answer.end();
  }
};
