/**
 * Google's Gemini API (generateContent, v1beta) through its SDK.
 *
 * A model that thinks signs its parts; what it signed goes back unchanged with the message as its
 * continuation, without which Gemini 3 refuses the results of its calls. Calls that another model
 * made carry the mark that Google documents for foreign histories. Function calls need not have ids
 * here; where one has none, ours stands in our messages and is not sent.
 *
 * Idempotency-Key: Google does not promise to read it; gateways in between may. A model call is
 * therefore of class `repeatable`, never `keyed`.
 */
import type {
  Content,
  FinishReason,
  GenerateContentParameters,
  GenerateContentResponse,
  GoogleGenAI,
  HttpOptions,
  Part,
  ThinkingLevel,
} from '@google/genai';
import { defined } from '../../protocols/defined.ts';
import { BUILT_IN_PROVIDERS } from '../../protocols/model-providers.ts';
import type { Answer } from './answer.ts';
import {
  authentication,
  type Connection,
  modelOf,
  type OpenConnection,
  openConnection,
} from './connection.ts';
import {
  argsObject,
  blocksFor,
  mendConversation,
  type Origin,
  portableId,
} from './conversation.ts';
import { ReportedError } from './failure.ts';
import { imagesFor } from './images.ts';
import type { ModelInfo, ModelMessage, ModelProvider, ModelRequest, ModelStop } from './model.ts';
import { type Fetch, streamAnswer, type Wire } from './stream.ts';
import { geminiGeneration, googleThinking } from './thinking.ts';

/** Of the API's images; it refuses GIF. */
const imageTypes = ['image/png', 'image/jpeg', 'image/webp'];

/** Google's mark for a call in the history that no Gemini model made. */
const foreignSignature = 'skip_thought_signature_validator';

export const createGoogleProvider = (connection: Connection): ModelProvider => {
  const open = openConnection(connection, BUILT_IN_PROVIDERS.google.url);
  const client = clientOf(open);
  return {
    id: connection.id,
    models: connection.models,
    stream: (request, options) => {
      const origin = { provider: open.origin, model: request.model };
      const params = paramsOf(request, open, origin);
      const heard: Heard = { parts: [], calls: 0, prefix: options.idempotencyKey };
      const wire: Wire<GenerateContentResponse> = {
        async open(abortSignal, fetch) {
          const { models, httpOptionsFor } = await client();
          const httpOptions = httpOptionsFor(fetch, options.idempotencyKey);
          const config = { ...params.config, abortSignal, httpOptions };
          return models.generateContentStream({ ...params, config });
        },
        read: (event, answer) => hear(event, answer, heard, origin),
      };
      return streamAnswer(wire, options, open.failure, open.clock);
    },
  };
};

const keyHeader = 'x-goog-api-key';

type Client = {
  readonly models: GoogleGenAI['models'];
  readonly httpOptionsFor: (fetch: Fetch, idempotencyKey: string) => HttpOptions;
};

/**
 * One client for all calls, made by the first: the SDK writes to the console when it is made while
 * both variables of the environment hold a key, although it is told everything and takes neither.
 */
const clientOf = (connection: OpenConnection): (() => Promise<Client>) => {
  let made: Promise<Client> | undefined;
  return async () => {
    const proof = authentication(connection, [keyHeader, 'authorization'], 'GEMINI_API_KEY');
    made ??= connect(connection, proof);
    return made;
  };
};

const connect = async (
  connection: OpenConnection,
  proof: ReturnType<typeof authentication>,
): Promise<Client> => {
  const { GoogleGenAI: Sdk } = await import('@google/genai');
  const own: Record<string, string> = {};
  const without: string[] = [];
  for (const [name, value] of Object.entries(proof.headers)) {
    if (value === null) without.push(name);
    else own[name] = value;
  }
  // the version stands in the path; people write it into baseUrl as well
  const [, root, apiVersion = 'v1beta'] = /^(.*?)(?:\/(v\d\w*))?$/.exec(connection.baseUrl) ?? [];
  const { models } = new Sdk({
    apiKey: proof.apiKey,
    enterprise: false,
    vertexai: false,
    apiVersion,
    httpOptions: { baseUrl: root ?? connection.baseUrl },
  });
  return {
    models,
    httpOptionsFor: (fetch, idempotencyKey) => ({
      headers: { 'Idempotency-Key': idempotencyKey, ...own },
      fetch: leavingOut(without, fetch),
    }),
  };
};

/** The SDK insists on sending a key; a server that needs none gets none. */
const leavingOut =
  (names: readonly string[], fetch: Fetch): Fetch =>
  (url, init) => {
    const headers = new Headers(init?.headers);
    for (const name of names) headers.delete(name);
    return fetch(url, { ...init, headers });
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
    contents: contentsOf(mendConversation(request.messages, origin), origin, model),
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

/** The results of one message stand together in one content, as the API demands. */
const contentsOf = (
  messages: readonly ModelMessage[],
  origin: Origin,
  model: ModelInfo,
): Content[] => {
  const sent: Content[] = [];
  // of the last message of the model: results stand right after it
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
  /** that were sent with their calls */
  readonly ids: ReadonlySet<string>;
  /** by id, as the model wrote them: a result answers under the same name, alias or not */
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
    // only the first call of a step is asked for its signature
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

/** What the model said so far, as it must be sent back if any of it is signed. */
type Heard = { parts: Part[]; calls: number; readonly prefix: string };

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

/** A `finishReason` is the end of the answer; a prompt that is blocked has no candidate at all. */
const hear = (
  event: GenerateContentResponse,
  answer: Answer,
  heard: Heard,
  origin: Origin,
): void => {
  hearUsage(event.usageMetadata, answer);
  const [candidate] = event.candidates ?? [];
  for (const part of candidate?.content?.parts ?? []) hearPart(part, answer, heard);
  const reason = candidate?.finishReason;
  if (reason) hearEnd(reason, answer);
  else if (event.promptFeedback?.blockReason) {
    answer.stop('refusal');
    answer.end();
  }
  if (answer.ended && heard.parts.some((part) => part.thoughtSignature)) {
    answer.continueWith({ ...origin, blocks: heard.parts });
  }
};

const hearUsage = (usage: GenerateContentResponse['usageMetadata'], answer: Answer): void => {
  if (!usage) return;
  const { promptTokenCount: prompt, candidatesTokenCount: said } = usage;
  answer.usage({
    // the results of tools that ran at Google's; the prompt holds what was cached already
    inputTokens: prompt === undefined ? undefined : prompt + (usage.toolUsePromptTokenCount ?? 0),
    outputTokens: (said ?? 0) + (usage.thoughtsTokenCount ?? 0),
    cachedInputTokens: usage.cachedContentTokenCount,
  });
};

const hearPart = (part: Part, answer: Answer, heard: Heard): void => {
  if (part.functionCall) {
    const { id, name, args } = part.functionCall;
    const key = heard.calls++;
    answer.openCall(key, id || portableId(`${heard.prefix}_${key}`), name as string);
    answer.wholeCallArgs(key, JSON.stringify(args ?? {}));
  } else if (part.text !== undefined) {
    if (part.thought) answer.reasoning(part.text);
    else answer.text(part.text);
  }
  keep(part, heard.parts);
};

/**
 * Deltas of one text become one part; a signature ends its part. Thoughts go back only if signed.
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

/** What is no answer and no refusal, such as a call that is none, is worth another try. */
const hearEnd = (reason: string, answer: Answer): void => {
  const stop = stops[reason];
  if (stop === undefined) {
    throw new ReportedError(reason.toLowerCase(), `the answer ended with ${reason}`);
  }
  answer.stop(stop);
  answer.end();
};
