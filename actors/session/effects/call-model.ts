/**
 * callModel: one request to a language model about the session's transcript, and the plan of the
 * calls in its answer. The first call of a run builds the prompt before that, so that no turn is
 * needed between them. `repeatable`: it changes nothing outside except the bill. After a crash it
 * runs again under the same run id, and its deltas restart at offset 0, so clients replace the
 * earlier ones.
 */
import { address } from '../../../protocols/address.ts';
import type { AgentRow } from '../../../protocols/agent.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type RunEvent, runEventsTopic, type ToolCall } from '../../../protocols/session.ts';
import {
  chatSpan,
  type EffectContext,
  type EffectDefinition,
  inSpan,
  storableError,
  usageAttributes,
} from '../../../runtime/index.ts';
import { conversationFrom } from '../../../agent/context/conversation.ts';
import { chosenFor } from '../../../agent/models/chosen.ts';
import { streamWithFailover } from '../../../agent/models/failover.ts';
import type { ModelRequest, ThinkingLevel } from '../../../agent/models/model.ts';
import { offeredTools, planCalls } from '../../../agent/policy/plan.ts';
import { servicesOf } from '../../../agent/services.ts';
import { modelCallOf } from '../version-1.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type { CallModelFailure, CallModelInput, CallModelOutput } from '../types.ts';
import { assembled } from './assemble.ts';
import { readConversation } from './transcript.ts';

/** Silence of a model after which the request fails. */
const IDLE_TIMEOUT_MS = 120_000;
/** Tokens of the window that are kept free for the answer (AgentSettings.reserveTokens). */
const RESERVE_TOKENS = 16_384;

type Answer = Omit<CallModelOutput, 'assembled' | 'planned' | 'from' | 'node' | 'notices'>;

export const callModel: EffectDefinition<CallModelInput, CallModelOutput | CallModelFailure> = {
  class: 'repeatable',
  workspace: 'discard',
  placement: ({ assemble, tenant, agentId }) =>
    assemble ? { workspacesOf: [address(tenant, 'agent', agentId)] } : {},
  async run(recorded, context) {
    const { assemble, ...input } = modelCallOf(recorded);
    if (!assemble) return answerTo(input, context);
    const made = await assembled({ ...input, ...assemble }, context);
    const { prepend } = made;
    try {
      const call = prepend === undefined ? input : { ...input, prepend };
      return { assembled: made, ...(await answerTo(call, context, made.prompt?.system)) };
    } catch (error) {
      // an aborted call has no outcome
      if (context.signal.aborted) throw error;
      return { assembled: made, failure: storableError(errorData(error)) };
    }
  },
};

/** @param system the prompt, if the transcript does not hold it yet */
async function answerTo(
  input: CallModelInput,
  context: EffectContext,
  system?: string,
): Promise<CallModelOutput> {
  const { catalog, node, tools } = servicesOf(context);
  await tools.ready();
  const { names, thinking, notices } = chosenFor(catalog, input);
  const first = catalog.resolve(names[0]);
  const { entries, from } = await readConversation(input, context, system);
  const request = requestOf(input, context, {
    window: first.model.contextWindow,
    entries,
    thinking,
  });
  const answer = await inSpan(
    () => chatSpan({ provider: first.provider.id, model: first.model.id }),
    async (span) => {
      const { answer: response, cachedInputTokens } = await ask(names, request, input, context);
      span.setAttributes(
        usageAttributes({
          ...response.usage,
          ...(cachedInputTokens ? { cachedInputTokens } : {}),
        }),
      );
      return response;
    },
  );
  const planned = await planOf(answer.calls, input, context);
  return {
    ...answer,
    planned,
    ...(from === input.from ? {} : { from }),
    ...(node === undefined ? {} : { node }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

function requestOf(
  { settings, sessionKey, runId, prepend }: CallModelInput,
  context: EffectContext,
  {
    window,
    entries,
    thinking,
  }: {
    window: number;
    entries: Parameters<typeof conversationFrom>[0];
    thinking: ThinkingLevel | undefined;
  },
): Omit<ModelRequest, 'model'> {
  const { tools } = servicesOf(context);
  const reserveTokens = Math.min(settings.reserveTokens ?? RESERVE_TOKENS, Math.floor(window / 2));
  const { system, messages } = conversationFrom(entries, {
    window,
    reserveTokens,
    ...(prepend === undefined ? {} : { prepend: { runId, text: prepend } }),
  });
  return {
    system,
    messages,
    tools: offeredTools(tools, settings, sessionKey),
    ...(thinking ? { thinking } : {}),
  };
}

async function ask(
  names: readonly string[],
  request: Omit<ModelRequest, 'model'>,
  input: CallModelInput,
  context: EffectContext,
): Promise<{ answer: Answer; cachedInputTokens?: number }> {
  const { catalog } = servicesOf(context);
  const stream = streamWithFailover(catalog, names, request, {
    signal: context.signal,
    idempotencyKey: context.id,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  });
  const watchers = new Watchers(input, context);
  if (input.isRepeat || context.attempt > 1) watchers.restart();
  for await (const event of stream) {
    if (event.kind === 'restart') watchers.restart();
    else if (event.kind === 'text') watchers.tell('assistant', event.delta);
    else if (event.kind === 'reasoning') watchers.tell('reasoning', event.delta);
    else {
      const { text, calls, stop, continuation, model, costUsd } = event;
      const { inputTokens, outputTokens, cachedInputTokens } = event.usage;
      const usage = { inputTokens, outputTokens, ...(costUsd === undefined ? {} : { costUsd }) };
      const reasoning = watchers.reasoning;
      const answer: Answer = {
        text,
        calls,
        stop,
        usage,
        model,
        ...(reasoning ? { reasoning } : {}),
        ...(continuation ? { continuation } : {}),
      };
      return { answer, ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }) };
    }
  }
  throw new TroupeError('UNAVAILABLE', `${names[0]}: the stream ended without its end event`);
}

/** Plans each tool call: policy, arguments, hooks, approval. */
async function planOf(
  calls: readonly ToolCall[],
  { tenant, agentId, sessionKey, runId, settings }: CallModelInput,
  context: EffectContext,
): Promise<readonly PlannedCall[]> {
  if (calls.length === 0) return [];
  const { tools, hooks } = servicesOf(context);
  const mayAsk = calls.some(({ name }) => tools.get(name)?.question !== undefined);
  const row = mayAsk
    ? (await context.index(address(tenant, 'agent', agentId))).get<AgentRow>(
        'agents',
        tenant,
        agentId,
      )
    : undefined;
  const allowed = (row?.allowed ?? []).map(({ pattern }) => pattern);
  const about = { tenant, agentId, sessionKey, runId };
  return planCalls(calls, { tools, hooks, settings, about, allowed });
}

/** Maximum reasoning of a model that the transcript keeps. */
const REASONING_CHARACTERS_MAX = 32_768;

/** Publishes the model's text to subscribers while it arrives. */
class Watchers {
  readonly #input: CallModelInput;
  readonly #context: EffectContext;
  readonly #topic: string;
  #offset = { assistant: 0, reasoning: 0 };
  /** the beginning of the model's reasoning */
  reasoning = '';

  constructor(input: CallModelInput, context: EffectContext) {
    this.#input = input;
    this.#context = context;
    this.#topic = runEventsTopic(input.tenant, input.sessionKey);
  }

  /** Another model starts, or the request is repeated: earlier deltas are void. */
  restart(): void {
    this.#offset = { assistant: 0, reasoning: 0 };
    this.reasoning = '';
    this.tell('assistant', '');
    this.tell('reasoning', '');
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
    if (stream === 'reasoning' && this.reasoning.length < REASONING_CHARACTERS_MAX)
      this.reasoning = (this.reasoning + delta).slice(0, REASONING_CHARACTERS_MAX);
    this.#context.publish(this.#topic, { type: 'run', ...event });
  }
}
