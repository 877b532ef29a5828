/** Google's Gemini API (v1beta), streaming, on 127.0.0.1. */
import {
  type Plan,
  type Protocol,
  type ScriptedServer,
  type SeenRequest,
  type Send,
  type ServerOptions,
  startScriptedServer,
} from './scripted-server.ts';

export const startGoogleServer = (options: ServerOptions = {}): Promise<ScriptedServer> =>
  startScriptedServer((path) => (pathPattern.test(path) ? protocol : undefined), '', options);

const pathPattern = /^\/v1beta\/models\/([^/]+):streamGenerateContent$/;

type Part = {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType: string };
  functionCall?: { id?: string; name: string; args: unknown };
  functionResponse?: { id?: string; name: string };
};
type Content = { role: string; parts: Part[] };

const known = ['contents', 'systemInstruction', 'tools', 'generationConfig'];
const knownGeneration = ['maxOutputTokens', 'thinkingConfig'];

const modelOf = ({ path }: SeenRequest): string => pathPattern.exec(path)?.[1] ?? '';

/** Rules of the real API that a client can violate. */
const refuses = (request: SeenRequest): string | undefined => {
  const { body } = request;
  const model = modelOf(request);
  const generation = (body.generationConfig ?? {}) as Record<string, unknown>;
  const unknown =
    Object.keys(body).find((field) => !known.includes(field)) ??
    Object.keys(generation).find((field) => !knownGeneration.includes(field));
  if (unknown) return `Invalid JSON payload received. Unknown name "${unknown}"`;
  const thinking = generation.thinkingConfig as Record<string, unknown> | undefined;
  if (thinking && !/gemini-(2\.5|[3-9])/.test(model))
    return 'Thinking is not enabled for this model';
  if (thinking && 'thinkingLevel' in thinking && !/gemini-[3-9]/.test(model)) {
    return 'thinking_level is not supported by this model';
  }
  if (thinking?.thinkingLevel === 'MEDIUM' && /gemini-3-pro/.test(model)) {
    return 'thinking_level MEDIUM is not supported by this model';
  }
  return refusesContents(body.contents as Content[], /gemini-[3-9]/.test(model));
};

const refusesContents = (contents: Content[], signed: boolean): string | undefined => {
  for (const [at, { role, parts }] of contents.entries()) {
    if (parts.length === 0) return `contents[${at}].parts: must not be empty`;
    if (parts.some((part) => part.inlineData?.mimeType === 'image/gif')) {
      return 'Unsupported MIME type: image/gif';
    }
    const calls = parts.filter((part) => part.functionCall);
    const answers = contents[at + 1]?.parts.filter((part) => part.functionResponse) ?? [];
    if (calls.length !== answers.length) {
      return 'the number of function response parts must equal that of function call parts';
    }
    if (calls.length > 0 && role !== 'model') return 'function calls come from the model';
    if (signed && calls[0] && !calls[0].thoughtSignature) {
      return `Function call is missing a thought_signature in functionCall parts`;
    }
    if (
      calls.some((call, place) => call.functionCall?.id !== answers[place]?.functionResponse?.id)
    ) {
      return 'function response id does not match its call';
    }
  }
  return undefined;
};

const chunk = (
  send: Send,
  request: SeenRequest,
  parts: Part[],
  more: { finishReason?: string; usageMetadata?: unknown; finishMessage?: string } = {},
): Promise<void> => {
  const { usageMetadata, ...candidate } = more;
  return send(undefined, {
    candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }],
    ...(usageMetadata ? { usageMetadata } : {}),
    modelVersion: modelOf(request),
    responseId: 'resp_1',
  });
};

const finishReasons = { end: 'STOP', tools: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' };

const thought = new WeakSet<SeenRequest>();

const finish = async (
  send: Send,
  request: SeenRequest,
  plan: Extract<Plan, { kind: 'answer' }>,
): Promise<void> => {
  const calls = plan.calls ?? [];
  if (calls.some(({ args }) => typeof args === 'string')) {
    const finishMessage = 'Malformed function call';
    return chunk(send, request, [], { finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage });
  }
  const signed = thought.has(request) ? { thoughtSignature: 'c2lnbmVk' } : {};
  for (const [at, { id, name, args }] of calls.entries()) {
    await chunk(send, request, [{ functionCall: { id, name, args }, ...(at === 0 ? signed : {}) }]);
  }
  const { inputTokens = 11, outputTokens = 7 } = plan.usage ?? {};
  const thoughts = thought.has(request) ? 2 : 0;
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - thoughts,
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
    ...(plan.cachedTokens ? { cachedContentTokenCount: plan.cachedTokens } : {}),
    totalTokenCount: inputTokens + outputTokens,
  };
  const stop = plan.stop ?? (calls.length > 0 ? 'tools' : 'end');
  const last = calls.length === 0 && thought.has(request) ? [{ text: '', ...signed }] : [];
  await chunk(send, request, last, { finishReason: finishReasons[stop], usageMetadata });
};

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** The error details of this API for an error of the script. */
const details = (type: string | undefined): unknown[] => {
  if (type === 'insufficient_quota') {
    const quotaId = 'GenerateRequestsPerDayPerProjectPerModel-FreeTier';
    return [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] }];
  }
  if (type === 'authentication_error') {
    return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }];
  }
  const wait = /^wait:(.*)$/.exec(type ?? '')?.[1];
  return wait === undefined
    ? []
    : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: wait }];
};

const errorBody = (status: number, type: string | undefined, message: string) => ({
  error: { code: status, message, status: statuses[status] ?? 'UNKNOWN', details: details(type) },
});

const codesOfEvents: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  invalid_prompt: 400,
  server_error: 500,
};

const protocol: Protocol = {
  refuses,
  keyOf: (headers) => headers['x-goog-api-key'],
  wrongShape: { candidates: [{ content: { role: 'model', parts: [{ text: 42 }] }, index: 0 }] },
  brokenEvent: 'data: {"candidates": [{"cont\n\n',
  begin: () => undefined,
  async reasoning(send, request, text) {
    thought.add(request);
    await chunk(send, request, [{ text, thought: true }]);
  },
  delta: (send, request, text) => chunk(send, request, [{ text }]),
  finish,
  errorEvent: (send, _, type, message) =>
    send(undefined, errorBody(codesOfEvents[type] ?? 503, type, message)),
  errorBody,
};
