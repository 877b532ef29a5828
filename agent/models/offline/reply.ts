/**
 * The offline model's answer to a request: a pure function, so a call that is repeated after a
 * crash gets the same answer.
 *
 * Directives in the last user message, for load tests, demonstrations and failure tests:
 *  - `[[words:n]]`        an answer of exactly n words
 *  - `[[think:n]]`        n words of reasoning before the answer
 *  - `[[pace:n]]`         n tokens per second for this answer, 0 as fast as possible
 *  - `[[fail:CODE]]`, `[[fail:CODE:ms]]` the call fails with that code of the taxonomy (and
 *    retryAfterMs)
 *  - `[[cut:n]]`          the stream ends after n tokens without its end event
 *  - `[[stall:n]]`        the stream stalls after n tokens
 *  - `[[malformed:n]]`    a malformed event follows n tokens
 *  - `[[refuse]]`         the answer stops as a refusal
 *  - `[[turns:n]]` the answer requests n more replies of the agents in turn, at most 5: it contains
 *    the directive, and each reply contains one less (talk.ts)
 *
 * The JSON arguments of a call are not searched: a message or task for another agent may contain
 * directives and calls of its own. Quoted material is ignored as well.
 */
import { type ErrorCode, isErrorCode, TroupeError } from '../../../protocols/errors.ts';
import { saidByAgent, unmarked, withoutQuotes } from '../../context/envelope.ts';
import type { ModelMessage, ModelRequest, ModelStop, ToolCall } from '../model.ts';
import { type Directives, directivesOf, numberOf, withoutDirectives } from './directives.ts';
import { carriedTurns, filled, talkStep, describedResult } from './talk.ts';
import { type Asked, askedIn } from './tools.ts';
import { languageOf, type Words, words } from './words.ts';

export type Fault =
  | { readonly kind: 'fail'; readonly error: TroupeError }
  | { readonly kind: 'cut' | 'stall' | 'malformed'; readonly afterTokens: number };

export type Reply = {
  readonly reasoning: readonly string[];
  /** tokens; their concatenation is the answer */
  readonly tokens: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly stop: ModelStop;
  readonly inputTokens: number;
  readonly tokensPerSecond?: number;
  readonly fault?: Fault;
};

/** Maximum of `[[words:n]]` and `[[think:n]]`. */
const wordsMax = 100_000;

/**
 * Pieces of a text as a model would stream them: up to six letters or two Chinese characters, with
 * the preceding space.
 */
export const tokensOf = (text: string): string[] =>
  text.match(/\s*(?:\p{Script=Han}{1,2}|[^\s\p{Script=Han}]{1,6})|\s+$/gu) ?? [];

export const replyTo = (request: ModelRequest): Reply => {
  const turn = turnOf(request.messages);
  const step = talkStep(request.system, turn.question);
  const asked = askedIn(step === undefined ? turn.question : '', request.tools);
  const directives = directivesOf(asked.rest);
  const spoken = step === undefined ? speak(request, turn, asked) : { text: step, calls: [] };
  const said = tokensOf(spoken.text);
  const tokens = said.slice(0, request.maxTokens ?? said.length);
  const cut = tokens.length < said.length;
  return {
    reasoning: reasoningOf(request, turn, directives),
    tokens,
    calls: cut ? [] : spoken.calls,
    stop: stopOf(cut, spoken.calls, directives),
    inputTokens: inputTokensOf(request),
    ...(directives.has('pace') ? { tokensPerSecond: numberOf(directives, 'pace') } : {}),
    ...faultOf(directives),
  };
};

const stopOf = (cut: boolean, calls: readonly ToolCall[], directives: Directives): ModelStop => {
  if (directives.has('refuse')) return 'refusal';
  if (cut) return 'length';
  return calls.length > 0 ? 'tools' : 'end';
};

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** The last question, the messages before it, and the tool results since. */
type Turn = {
  readonly question: string;
  readonly earlier: readonly string[];
  readonly rounds: number;
  readonly results: readonly ToolMessage[];
  /** of the last round */
  readonly latest: readonly ToolMessage[];
};

const turnOf = (messages: readonly ModelMessage[]): Turn => {
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const question = messages[asked];
  const since = messages.slice(asked + 1);
  return {
    question: question?.role === 'user' ? saidByAgent(question.text) : '',
    earlier: messages
      .slice(0, Math.max(asked, 0))
      .flatMap((message) => (message.role === 'user' ? [message.text] : [])),
    rounds: since.filter((message) => message.role === 'assistant' && message.calls?.length).length,
    results: since.filter(isResult),
    latest: since
      .slice(since.findLastIndex(({ role }) => role === 'assistant') + 1)
      .filter(isResult),
  };
};

const isResult = (message: ModelMessage): message is ToolMessage => message.role === 'tool';

const faultOf = (directives: Directives): { fault?: Fault } => {
  const [code, retryAfterMs] = directives.get('fail') ?? [];
  if (code !== undefined) return { fault: { kind: 'fail', error: askedFor(code, retryAfterMs) } };
  const kind = (['cut', 'stall', 'malformed'] as const).find((one) => directives.has(one));
  return kind ? { fault: { kind, afterTokens: numberOf(directives, kind) } } : {};
};

const askedFor = (code: string, retryAfterMs: string | undefined): TroupeError => {
  const known: ErrorCode = isErrorCode(code) ? code : 'INVALID_ARGUMENT';
  const message = isErrorCode(code) ? 'failed because the message asked for it' : `no code ${code}`;
  const wait = Number(retryAfterMs ?? 'none');
  const pause = Number.isFinite(wait) ? { retryAfterMs: wait } : {};
  return new TroupeError(known, `The offline model: ${message}`, pause);
};

const reasoningOf = (request: ModelRequest, turn: Turn, directives: Directives): string[] => {
  if (directives.has('think')) return tokensOf(manyWords(numberOf(directives, 'think')));
  if (!request.thinking || request.thinking === 'off') return [];
  const language = words[languageOf(turn.question)];
  return tokensOf(language.thinking(wordsIn(turn.question)));
};

const inputTokensOf = (request: ModelRequest): number => {
  const said = request.messages.map((message) =>
    message.role === 'tool' ? message.result : message.text,
  );
  return said.reduce((sum, text) => sum + tokensOf(text).length, systemTokensOf(request.system));
};

/** The last system prompt and its tokens: calls of one agent have the same one, and it is long. */
let counted = { system: '', tokens: 0 };

const systemTokensOf = (system: string): number => {
  if (system !== counted.system) counted = { system, tokens: tokensOf(system).length };
  return counted.tokens;
};

const wordsIn = (text: string): number =>
  (text.match(/\p{Script=Han}|[^\s\p{Script=Han}]+/gu) ?? []).length;

type Spoken = { readonly text: string; readonly calls: readonly ToolCall[] };

const speak = (request: ModelRequest, turn: Turn, asked: Asked): Spoken => {
  const directives = directivesOf(asked.rest);
  const question = withoutDirectives(withoutQuotes(turn.question));
  const language = words[languageOf(question)];
  if ('missing' in asked) {
    const tools = request.tools.map(({ name }) => name);
    return { text: language.noTool(asked.missing, tools), calls: [] };
  }
  const round = asked.rounds[turn.rounds];
  if (round) {
    const results = turn.latest.map(({ result }) => unmarked(result));
    // unique in the conversation, and the same when the call is repeated
    const calls = round.map(({ name, args }, at) => ({
      id: `call_${request.messages.length}_${at}`,
      name,
      args: filled(args, results),
    }));
    return { text: '', calls };
  }
  const text = directives.has('words')
    ? manyWords(numberOf(directives, 'words'))
    : turn.results.length > 0
      ? resultsIn(language, turn.results)
      : answerTo(question, turn.earlier, language);
  return { text: text + carriedTurns(directives), calls: [] };
};

const resultsIn = (language: Words, results: readonly ToolMessage[]): string =>
  results
    .map(({ name, result, isError }) => {
      const text = unmarked(result);
      const described = describedResult(name, text, language);
      if (described !== undefined) return described;
      return isError ? language.toolFailed(name, text) : language.toolSaid(name, text);
    })
    .join('\n');

type Rule = readonly [
  RegExp,
  (match: RegExpExecArray, earlier: readonly string[], say: Words) => string,
];

const namePattern =
  /(?:my name is|tôi tên là|tên tôi là|我叫|我的名字是)\s*([\p{L}\p{N}_-]{1,40})/iu;

/** The first matching rule answers. */
const rules: readonly Rule[] = [
  // answers to the requests of a compaction (context/summary.ts): no notes, and the first words of
  // each message
  [/^The conversation above is about to be shortened/, () => 'NO_REPLY'],
  [/^Sum up the conversation above/, (_, earlier) => firstWords(earlier.at(-1) ?? '')],
  [
    /what(?:'s| is) my name|tôi tên (?:là )?gì|tên tôi là gì|我叫什么|我的名字是什么/i,
    (_, earlier, say) => {
      const known = earlier.map((text) => namePattern.exec(text)?.[1]).findLast((name) => name);
      return known ? say.name(known) : say.noName;
    },
  ],
  [
    /what (?:did|have) i (?:say|said|ask|asked|write|written|tell you|told you) first|my first (?:message|question)|(?:nói|hỏi) gì đầu tiên|第一句/i,
    (_, earlier, say) => (earlier[0] === undefined ? say.nothingYet : say.first(earlier[0])),
  ],
  [
    /what did i (?:just )?(?:say|ask|write)|my (?:last|previous) (?:message|question)|tôi vừa nói gì|我刚才?说了?什么/i,
    (_, earlier, say) => {
      const last = earlier.at(-1);
      return last === undefined ? say.nothingYet : say.previous(last);
    },
  ],
  [
    /how many (?:messages|times|questions)|bao nhiêu tin nhắn|多少条?消息|几条消息/i,
    (_, earlier, say) => say.count(earlier.length + 1),
  ],
  [
    /^(?:please )?(?:repeat|echo|say|lặp lại|hãy nói|重复|复述)[\s:：]+([^]+)$/i,
    ([, text = '']) => text.trim(),
  ],
  [
    /who are you|what are you|are you (?:real|an ai|a bot)|(?:which|real) model|api[_ ]key|bạn (?:là (?:ai|gì)|có phải)|mô hình (?:nào|gì|thật)|khóa api|你是(?:谁|什么|真|人|不是|机器人)|什么模型|哪个模型|真正的模型|密钥|介绍.{0,3}你自己/i,
    (_, __, say) => say.about,
  ],
  [
    /^(?:help|\?)|what can you do|trợ giúp|giúp tôi|làm được gì|帮助|你能做什么|你会什么/i,
    (_, __, say) => say.help,
  ],
  [/\b(?:thanks|thank you)\b|cảm ơn|谢谢/i, (_, __, say) => say.thanks],
  [
    /^(?:hi|hello|hey|good (?:morning|evening|day|afternoon))\b|xin chào|^chào|你好|您好|嗨/i,
    (_, __, say) => say.greeting,
  ],
];

const firstWords = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => (line.length > 120 ? `${line.slice(0, 120)}…` : line))
    .slice(-40)
    .join('\n');

const answerTo = (question: string, earlier: readonly string[], say: Words): string => {
  if (question === '') return say.help;
  for (const [pattern, answer] of rules) {
    const match = pattern.exec(question);
    if (match) return answer(match, earlier, say);
  }
  const shown = question.length > 200 ? `${question.slice(0, 200)}…` : question;
  return say.received(shown, wordsIn(question));
};

const vocabulary = (
  'the actor reads one message from its durable mailbox changes its state and tells others what it ' +
  'did then waits for the next message while the log keeps every word in order'
).split(' ');

/** Exactly `count` words, with a period after every twelfth and after the last. */
const manyWords = (count: number): string =>
  Array.from({ length: Math.min(count, wordsMax) }, (_, at) => {
    const word = vocabulary[at % vocabulary.length] as string;
    const first = at % 12 === 0 ? word[0]?.toUpperCase() + word.slice(1) : word;
    return at % 12 === 11 || at === count - 1 ? `${first}.` : first;
  }).join(' ');
