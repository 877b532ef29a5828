/**
 * The offline model's part in conversations with other agents: its answers in the steps of a
 * conversation, summaries of subagent results, and reports about its own messages. Pure.
 *
 *  - a reply step ends the exchange (REPLY_SKIP), unless the message contains `[[turns:n]]` with n
 *    > 0
 *  - an announce step answers one sentence, or nothing when the request contains `[[quiet]]`
 *  - `{{result}}` in the arguments of a later round is replaced by the answers of the previous
 *    round
 */
import { ANNOUNCE_SKIP, PING_PONG_TURNS_MAX, REPLY_SKIP } from '../../../protocols/conversation.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import { REPORTS_TITLE } from '../../../protocols/subagent.ts';
import { type Directives, directivesOf, numberOf, withoutDirectives } from './directives.ts';
import { languageOf, type Words, words } from './words.ts';

/** Maximum length of a quotation from another agent's message. */
const QUOTED_CHARACTERS_MAX = 120;
const FINDINGS_CHARACTERS_MAX = 400;

const shortened = (text: string, characters: number): string => {
  const line = withoutDirectives(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > characters ? `${line.slice(0, characters)}…` : line;
};

// ---- steps of a conversation, results of subagents

/** The answer in a step of a conversation; undefined for an ordinary message. */
export const talkStep = (system: string, message: string): string | undefined => {
  if (message.startsWith(`${REPORTS_TITLE}\n`)) return summary(message);
  const announced = announceStep.exec(system);
  if (announced) return announcement(announced[1] ?? '');
  if (!/^Agent-to-agent reply step:$/m.test(system)) return undefined;
  const turns = numberOf(directivesOf(message), 'turns');
  if (turns === 0) return REPLY_SKIP;
  return `${words[languageOf(message)].noted(shortened(message, QUOTED_CHARACTERS_MAX))} ${marker(turns - 1)}`;
};

const marker = (turns: number): string => `[[turns:${Math.min(turns, PING_PONG_TURNS_MAX)}]]`;

/** The suffix of an answer that requests replies. */
export const carriedTurns = (directives: Directives): string =>
  numberOf(directives, 'turns') > 0 ? ` ${marker(numberOf(directives, 'turns'))}` : '';

const announceStep = /^Agent-to-agent announce step:\n([^]*?)\nIf you want to remain silent/m;
const announcedReplies =
  /^Original request: ([^]*?)\nRound 1 reply: ([^]*?)(?:\nLatest reply: ([^]*))?$/;

const announcement = (about: string): string => {
  const [, request = '', first = '', latest = first] = announcedReplies.exec(about) ?? [];
  if (directivesOf(request).has('quiet')) return ANNOUNCE_SKIP;
  return words[languageOf(request)].settled(shortened(latest, FINDINGS_CHARACTERS_MAX));
};

const section =
  /^Subagent \d+(?: "([^\n]*)")?: ([^\n]*)\nTask: ([^\n]*)\nStats: [^\n]*\nFindings:\n<tool_result source="[^"\n]*">\n([^]*?)\n<\/tool_result>$/gm;

const summary = (message: string): string => {
  const lines = [...message.matchAll(section)].map(
    ([, label, outcome = '', task = '', findings = '']) => {
      const name = label ?? shortened(task, QUOTED_CHARACTERS_MAX);
      const how = outcome === 'completed' ? '' : ` (${outcome})`;
      return `- ${name}${how}: ${shortened(findings, FINDINGS_CHARACTERS_MAX)}`;
    },
  );
  return [words[languageOf(lines.join('\n'))].results(lines.length), ...lines].join('\n');
};

// ---- results of its own messages

/** The string fields of a result. */
type TalkResult = Readonly<Partial<Record<string, string>>>;

const readResult = (text: string): TalkResult => {
  try {
    const fields = Object.entries(Object(JSON.parse(text)) as object);
    return Object.fromEntries(fields.filter(([, value]) => typeof value === 'string'));
  } catch {
    return {};
  }
};

const agentOf = (key = ''): string => {
  const parts = parseSessionKey(key);
  return 'agentId' in parts ? parts.agentId : 'agent';
};

/** Describes the result of such a tool in words; undefined for other tools and other forms. */
export const describedResult = (name: string, text: string, say: Words): string | undefined => {
  if (name !== 'sessions_send' && name !== 'sessions_spawn') return undefined;
  const { status, sessionKey, childSessionKey, reply, result, error, reason } = readResult(text);
  if (status === undefined) return undefined;
  const agent = agentOf(childSessionKey ?? sessionKey);
  const answer = reply ?? result;
  if ((status === 'ok' || status === 'completed') && answer !== undefined)
    return say.agentSaid(agent, withoutDirectives(answer));
  if (status === 'accepted')
    return name === 'sessions_spawn' ? say.subagentBegan(agent) : say.messageSent(agent);
  if (status === 'timeout') return say.agentWorks(agent);
  return say.agentNot(agent, error ?? reason ?? status);
};

const PLACE = '{{result}}';

/** The arguments with each placeholder replaced by the answers of the previous round. */
export const filled = (args: unknown, results: readonly string[]): unknown => {
  if (typeof args === 'string') return args.replaceAll(PLACE, () => answersIn(results));
  if (Array.isArray(args)) return args.map((one) => filled(one, results));
  if (typeof args !== 'object' || args === null) return args;
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, filled(value, results)]),
  );
};

const answersIn = (results: readonly string[]): string =>
  results
    .map((text) => {
      const { reply, result } = readResult(text);
      return withoutDirectives(reply ?? result ?? text);
    })
    .join('\n');
