/**
 * Google's Gemini API (generateContent, v1beta) through its SDK.
 *
 * A thinking model signs its parts. Signed parts are sent back unchanged as the message's
 * continuation; without them Gemini 3 refuses the results of its calls. Calls of other models carry
 * the signature that Google documents for foreign histories. Function calls may lack ids here; then
 * our messages contain a generated id, which is not sent.
 *
 * Idempotency-Key: Google does not document it, but gateways on the way may use it. A model call is
 * therefore of class `repeatable`, never `keyed`.
 */
import type {
  Content,
  FinishReason,
  GenerateContentParameters,
  GenerateContentResponse,
  Part,
  ThinkingLevel,
} from '@google/genai';
import { defined } from '../../protocols/defined.ts';
import { BUILT_IN_PROVIDERS } from '../../protocols/models/model-providers.ts';
import { type Answer, parseArgs } from './answer.ts';
import { type Connection, modelOf, type OpenConnection, openConnection } from './connection.ts';
import {
  argsObject,
  blocksFor,
  repairConversation,
  type Origin,
  portableId,
} from './conversation.ts';
import { ReportedError } from './failure.ts';
import { createGoogleEmbedder } from './google-embedder.ts';
import { googleClientOf } from './google-connect.ts';
import { imagesFor } from './images.ts';
import type { ModelInfo, ModelMessage, ModelProvider, ModelRequest, ModelStop } from './model.ts';
import { streamAnswer, type Wire } from './stream.ts';
import { geminiGeneration, googleThinking } from './thinking.ts';

/** Image types of the API; it refuses GIF. */
const imageTypes = ['image/png', 'image/jpeg', 'image/webp'];

/** Google's signature for a call in the history that no Gemini model made. */
const foreignSignature = 'skip_thought_signature_validator';

export const createGoogleProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, BUILT_IN_PROVIDERS.google.url);
  const client = googleClientOf(open);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const origin = { provider: open.origin, model: request.model };
      const params = paramsOf(request, open, origin);
      const received: Received = { parts: [], calls: 0, prefix: options.idempotencyKey };
      const wire: Wire<GenerateContentResponse> = {
        async open(abortSignal, fetch) {
          const { models, httpOptionsFor } = await client();
          const httpOptions = httpOptionsFor(fetch, { 'Idempotency-Key': options.idempotencyKey });
          const config = { ...params.config, abortSignal, httpOptions };
          return models.generateContentStream({ ...params, config });
        },
        read: (event, answer) => readEvent(event, answer, received, origin),
      };
      return streamAnswer(wire, options, open.failure, open.clock);
    },
    embedder: (settings) => createGoogleEmbedder(open, settings),
  };
};

const paramsOf = (
  request: ModelRequest,
  connection: OpenConnection,
  origin: Origin,
): GenerateContentParameters => {
  const model = modelOf(connection, request.model);
  const thinking = googleThinking(model, request.thinking);
  return {
    model: request.model,
    contents: contentsOf(repairConversation(request.messages, origin), origin, model),
    config: {
      automaticFunctionCalling: { disable: true },
      ...(request.system === '' ? {} : { systemInstruction: request.system }),
      ...defined({ maxOutputTokens: request.maxTokens }),
      ...(thinking === undefined
        ? {}
        : { thinkingConfig: thinking as typeof thinking & { thinkingLevel?: ThinkingLevel } }),
      ...(request.tools.length === 0
        ? {}
        : { tools: [{ functionDeclarations: toolsOf(request) }] }),
    },
  };
};

const toolsOf = ({ tools }: ModelRequest) =>
  tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: { ...parameters, type: 'object' },
  }));

/** The API requires the results of one message in one content. */
const contentsOf = (
  messages: readonly ModelMessage[],
  origin: Origin,
  model: ModelInfo,
): Content[] => {
  const sent: Content[] = [];
  // of the last model message: its results follow directly
  let called: Called = { ids: new Set(), names: new Map() };
  let before: ModelMessage['role'] | undefined;
  for (const message of messages) {
    const parts = partsOf(message, origin, model, called);
    if (message.role === 'assistant')
      called = {
        ids: new Set(parts.flatMap(({ functionCall }) => functionCall?.id ?? [])),
        names: new Map(message.calls?.map(({ id, name }) => [id, name])),
      };
    if (message.role === 'tool' && before === 'tool') sent.at(-1)?.parts?.push(...parts);
    else sent.push({ role: message.role === 'assistant' ? 'model' : 'user', parts });
    before = message.role;
  }
  return sent;
};

type Called = {
  /** ids that were sent with their calls */
  readonly ids: ReadonlySet<string>;
  /** by id, the name that the model used: a result must have the same name, even an alias */
  readonly names: ReadonlyMap<string, string>;
};

const partsOf = (
  message: ModelMessage,
  origin: Origin,
  model: ModelInfo,
  called: Called,
): Part[] => {
  if (message.role === 'tool') {
    const { callId, isError } = message;
    const name = called.names.get(callId) ?? message.name;
    const { shown, text } = imagesFor(message, message.result, model, imageTypes);
    const response = isError ? { error: text } : { output: text };
    const id = called.ids.has(callId) ? { id: callId } : {};
    return [{ functionResponse: { ...id, name, response } }, ...shown.map(imageOf)];
  }
  if (message.role === 'user') {
    const { shown, text } = imagesFor(message, message.text, model, imageTypes);
    return [...shown.map(imageOf), ...textOf(text)];
  }
  const own = blocksFor(message, origin);
  if (own) return [...own] as Part[];
  const signed = geminiGeneration(model.id) >= 3 ? { thoughtSignature: foreignSignature } : {};
  const calls = (message.calls ?? []).map(
    // only the first call of a step needs its signature
    ({ name, args }, at): Part => ({
      functionCall: { name, args: argsObject(args) },
      ...(at === 0 ? signed : {}),
    }),
  );
  return [...textOf(message.text), ...calls];
};

const textOf = (text: string): Part[] => (text === '' ? [] : [{ text }]);

const imageOf = ({ mimeType, data }: { mimeType: string; data: string }): Part => ({
  inlineData: { mimeType, data },
});

/** The parts received so far; they must be sent back if any of them is signed. */
type Received = { parts: Part[]; calls: number; readonly prefix: string };

const stops: Readonly<Partial<Record<FinishReason | string, ModelStop>>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
};

/** A `finishReason` ends the answer; a blocked prompt has no candidates. */
const readEvent = (
  event: GenerateContentResponse,
  answer: Answer,
  received: Received,
  origin: Origin,
): void => {
  readUsage(event.usageMetadata, answer);
  const [candidate] = event.candidates ?? [];
  for (const part of candidate?.content?.parts ?? []) readPart(part, answer, received);
  const reason = candidate?.finishReason;
  if (reason) readEnd(reason, answer);
  else if (event.promptFeedback?.blockReason) {
    answer.stop('refusal');
    answer.end();
  }
  if (answer.ended && received.parts.some((part) => part.thoughtSignature)) {
    answer.continueWith({ ...origin, blocks: received.parts });
  }
};

const readUsage = (usage: GenerateContentResponse['usageMetadata'], answer: Answer): void => {
  if (!usage) return;
  const { promptTokenCount: prompt, candidatesTokenCount: said } = usage;
  answer.usage({
    // results of tools that ran at Google; the prompt count includes cached tokens
    inputTokens: prompt === undefined ? undefined : prompt + (usage.toolUsePromptTokenCount ?? 0),
    outputTokens: (said ?? 0) + (usage.thoughtsTokenCount ?? 0),
    cachedInputTokens: usage.cachedContentTokenCount,
  });
};

const readPart = (part: Part, answer: Answer, received: Received): void => {
  if (part.functionCall) {
    const { id, name, args } = part.functionCall;
    const key = received.calls++;
    answer.openCall(key, id || portableId(`${received.prefix}_${key}`), name as string);
    const json = JSON.stringify(args ?? {});
    answer.wholeCallArgs(key, json);
    const stored = { ...part.functionCall, args: argsObject(parseArgs(json)) };
    return keep({ ...part, functionCall: stored }, received.parts);
  }
  if (part.text !== undefined) {
    if (part.thought) answer.reasoning(part.text);
    else answer.text(part.text);
  }
  keep(part, received.parts);
};

/**
 * Merges consecutive text deltas into one part; a signature ends a part. Thoughts are sent back
 * only if signed.
 */
const keep = (part: Part, parts: Part[]): void => {
  if (part.thought && !part.thoughtSignature) return;
  const last = parts.at(-1);
  const grows =
    last?.text !== undefined &&
    !last.thoughtSignature &&
    part.text !== undefined &&
    Boolean(last.thought) === Boolean(part.thought);
  if (!grows) parts.push({ ...part });
  else parts[parts.length - 1] = { ...part, text: `${last.text}${part.text}` };
};

/** A result that is neither an answer nor a refusal, such as a malformed call, may be retried. */
const readEnd = (reason: string, answer: Answer): void => {
  const stop = stops[reason];
  if (stop === undefined) {
    throw new ReportedError(reason.toLowerCase(), `the answer ended with ${reason}`);
  }
  answer.stop(stop);
  answer.end();
};
