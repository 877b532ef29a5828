/**
 * Reply: the final text of a run for users: the reasoning if requested, a line per tool if work is
 * shown, the answer; an error text when the run failed. Pure.
 *
 * Invariants: NO_REPLY, alone or at an edge of the answer, is never published, nor are REPLY_SKIP
 * and ANNOUNCE_SKIP, alone, in a run that another agent started. Text that the tool `message` sent
 * into this conversation is not repeated. A run without an answer after a failed tool says so,
 * unless a message was sent. A refusal, and an answer that was cut off before its first word, are
 * reported as such.
 */
import { ANNOUNCE_SKIP, REPLY_SKIP } from '../../../protocols/conversation.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { cutMiddle } from '../../../agent/context/cut.ts';
import type { ReplyFacts, ToolSummary } from '../types.ts';

/** `silent`: nothing is published; then the text is ''. */
export type ShapedReply = { readonly text: string; readonly silent: boolean };

const SILENT = 'NO_REPLY';
const ABOUT_CHARACTERS_MAX = 120;
const RESULT_CHARACTERS_MAX = 1_000;
const SEPARATOR = '\n\n';

export function shapeReply(facts: ReplyFacts): ShapedReply {
  if (declines(facts)) return shapedReply([]);
  const answer = withoutSent(withoutNoReply(facts.text), facts);
  const { status, error, notices = [] } = facts;
  const opening = shown(facts);
  if (status === 'error' || status === 'timeout')
    return shapedReply([...opening, answer, failureText(status, error), ...notices]);
  if (answer !== '') return shapedReply([...opening, answer, ...notices]);
  if (facts.sent.length > 0) return shapedReply(notices);
  return shapedReply([emptyAnswerText(facts) ?? fallbackText(facts)]);
}

/** Texts for answers that are empty because the model stopped early. */
const WORDLESS: Readonly<Record<string, string>> = {
  refusal: 'The model refused to answer. Rephrase the message, or choose another model.',
  length:
    'There is no answer: the model reached its token limit before its first word. ' +
    'Ask for less at once or with less thinking, or raise `maxTokens` of the model.',
};

const emptyAnswerText = ({ status, text, stop = '' }: ReplyFacts): string | undefined =>
  status === 'ok' && text.trim() === '' ? WORDLESS[stop] : undefined;

const shapedReply = (parts: readonly string[]): ShapedReply => {
  const text = parts.filter((part) => part !== '').join(SEPARATOR);
  return { text, silent: text === '' };
};

/** The token at the beginning and the end, with the marks that usually surround it. */
const AT_START = new RegExp(`^[\\s*_\`"']*${SILENT}(?![\\p{L}\\p{N}_])[\\s*_\`"'.:,-]*`, 'u');
const AT_END = new RegExp(`(?:^|[\\s*_\`"'(]+)${SILENT}[\\s*_\`"').]*$`, 'u');

/** The answer without the token for silence. */
export function withoutNoReply(text: string): string {
  let rest = text.trim();
  for (;;) {
    const next = rest.replace(AT_START, '').replace(AT_END, '').trim();
    if (next === rest) return rest;
    rest = next;
  }
}

/**
 * Whether the answer declines: no further reply to the other agent, or no announcement to users.
 */
const DECLINED = new RegExp(`^[\\s*_\`"'(]*(?:${REPLY_SKIP}|${ANNOUNCE_SKIP})[\\s*_\`"').:,-]*$`);

const declines = ({ status, text, mayDecline }: ReplyFacts): boolean =>
  mayDecline === true && status === 'ok' && DECLINED.test(text);

/** Spaces aside; a mark can change what a text says: `-5` is not `5`. */
const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** '' when everything was sent; paragraphs that were sent are left out. */
export function withoutSent(answer: string, { sent }: Pick<ReplyFacts, 'sent'>): string {
  const known = new Set(sent.flatMap(({ text }) => [text, ...text.split(/\n{2,}/)].map(words)));
  known.delete('');
  if (known.size === 0) return answer;
  if (known.has(words(answer))) return '';
  const paragraphs = answer.split(/\n{2,}/);
  const left = paragraphs.filter((one) => !known.has(words(one)));
  return left.length === paragraphs.length ? answer : left.join(SEPARATOR).trim();
}

/** The text before the answer. */
function shown({ reasoning, showReasoning, verbose, tools }: ReplyFacts): string[] {
  const thought = showReasoning ? (reasoning ?? '').trim() : '';
  const lines = verbose === 'off' ? [] : tools.map((tool) => toolLine(tool, verbose === 'full'));
  return [
    ...(thought ? [`Reasoning:\n${thought.replaceAll(/^/gm, '> ')}`] : []),
    ...(lines.length ? [lines.join('\n')] : []),
  ];
}

function toolLine({ name, about, isError, result }: ToolSummary, withResult: boolean): string {
  const what = oneLine(about);
  const line = `- ${name}${what ? `: ${what}` : ''}${isError ? ' (failed)' : ''}`;
  const full = withResult ? (result ?? '').trim() : '';
  if (!full) return line;
  return `${line}\n${cutMiddle(full, RESULT_CHARACTERS_MAX).replaceAll(/^/gm, '  ')}`;
}

const oneLine = (text: string): string =>
  cutMiddle(text.replaceAll(/\s+/g, ' ').trim(), ABOUT_CHARACTERS_MAX).replaceAll('\n', ' ');

/** Without an answer, the last failed tool is reported. */
function fallbackText({ tools, status }: ReplyFacts): string {
  if (status !== 'ok') return '';
  const failed = tools.findLast(({ isError }) => isError);
  if (!failed) return '';
  const about = oneLine(failed.about);
  return `The tool ${failed.name} failed${about ? ` (${about})` : ''}, and the model gave no answer. Ask again, or open the run to see the error.`;
}

function failureText(status: ReplyFacts['status'], error: ErrorData | undefined): string {
  if (error) return `The run failed: ${error.message}`;
  return status === 'timeout' ? 'The run exceeded its time limit.' : 'The run failed.';
}
