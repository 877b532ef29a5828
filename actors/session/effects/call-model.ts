/**
 * callModel: one call of a language model over the session's transcript (AL4, AL10). `repeatable`:
 * it changes nothing outside but the bill; after a crash it runs again under the same run id, and
 * its deltas begin again at offset 0, which tells watchers to replace what they have (AL12).
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { type RunEvent, type SessionEntry, runEventsTopic } from '../../../protocols/session.ts';
import {
  chatSpan,
  type EffectContext,
  type EffectDefinition,
  inSpan,
  usageAttributes,
} from '../../../runtime/index.ts';
import type { AgentServices } from '../../agent/services.ts';
import { conversationOf, systemPrompt } from '../../agent/prompt.ts';
import type { CallModelInput, CallModelOutput } from '../types.ts';

/** How long the transcript may lag behind the turn that asked (only where messages are relayed). */
const TRANSCRIPT_WAIT_MS = 10_000;
const TRANSCRIPT_POLL_MS = 20;
/** A model that sends nothing for so long is given up. */
const IDLE_TIMEOUT_MS = 120_000;
const PAGE = 1_000;

export const callModel: EffectDefinition<CallModelInput, CallModelOutput> = {
  class: 'repeatable',
  async run(input, context) {
    const { catalog, tools } = context.services as AgentServices;
    const { provider, model, name } = catalog.resolve(input.model ?? catalog.defaultModel());
    const entries = await readTranscript(input, context);
    const request = {
      model: model.id,
      system: systemPrompt(input, name),
      messages: conversationOf(entries),
      tools: tools.specs(),
      ...(input.thinking ? { thinking: input.thinking as never } : {}),
    };
    return inSpan(chatSpan({ provider: provider.id, model: model.id }), async (span) => {
      const stream = provider.stream(request, {
        signal: context.signal,
        idempotencyKey: context.id,
        idleTimeoutMs: IDLE_TIMEOUT_MS,
      });
      const watchers = new Watchers(input, context);
      for await (const event of stream) {
        if (event.kind !== 'done') {
          watchers.tell(event.kind === 'text' ? 'assistant' : 'reasoning', event.delta);
          continue;
        }
        const { text, calls, stop, usage, continuation } = event;
        span.setAttributes(usageAttributes(usage));
        return { text, calls, stop, usage, model: name, ...(continuation ? { continuation } : {}) };
      }
      throw new TroupeError('UNAVAILABLE', `${name}: the stream ended without its end event`);
    });
  },
};

/** Everything up to what the asking turn knew: the last of the run's own entries (AL12). */
async function readTranscript(
  { runId, entries: ofRun }: CallModelInput,
  context: EffectContext,
): Promise<SessionEntry[]> {
  const transcript = context.transcript();
  const deadline = context.now() + TRANSCRIPT_WAIT_MS;
  const entries: SessionEntry[] = [];
  for (let from = 1; ; ) {
    const page = await transcript.read({ from, limit: PAGE });
    for (const { entry, position } of page) {
      entries.push(entry as unknown as SessionEntry);
      from = position + 1;
    }
    const begin = entries.findIndex((entry) => entry.type === 'user' && entry.runId === runId);
    const end = begin + ofRun;
    if (begin >= 0 && entries.length >= end) return entries.slice(0, end);
    if (page.length > 0) continue;
    if (context.now() > deadline || context.signal.aborted) {
      throw new TroupeError(
        'UNAVAILABLE',
        `the transcript does not hold the run's ${ofRun} entries yet`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, TRANSCRIPT_POLL_MS));
  }
}

/** Tells watchers what the model says, as it says it. */
class Watchers {
  readonly #input: CallModelInput;
  readonly #context: EffectContext;
  readonly #topic: string;
  readonly #offset = { assistant: 0, reasoning: 0 };

  constructor(input: CallModelInput, context: EffectContext) {
    this.#input = input;
    this.#context = context;
    this.#topic = runEventsTopic(input.tenant, input.sessionKey);
  }

  tell(stream: 'assistant' | 'reasoning', delta: string): void {
    const { runId, sessionKey, call } = this.#input;
    const event: RunEvent = {
      runId,
      sessionKey,
      at: this.#context.now(),
      stream,
      delta,
      offset: this.#offset[stream],
      call,
    };
    this.#offset[stream] += delta.length;
    this.#context.publish(this.#topic, { type: 'run', ...event });
  }
}
