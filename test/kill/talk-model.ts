/**
 * A model provider on 127.0.0.1 that plays agents which talk and hand work on, by a script: the
 * last message says `[NAME]`, and the part of that name what is answered, call by call. A part that
 * is kept does not answer until all are let go, so a test sees each state of an exchange as long as
 * it wants to. It lives in the process of the test, so no kill reaches it.
 *
 * Pure but for what it has kept: a call that is made again has the same answer.
 */
import { ANNOUNCE_MESSAGE } from '../../actors/conversation/prompts.ts';
import { REPORTS_TITLE } from '../../protocols/subagent.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import type { Plan, SeenRequest } from '../servers/scripted-server.ts';

/** What a run does whose message says its name. */
export type Part = {
  /** calls of its first answer, side by side; some need to know what it was told */
  readonly calls?: readonly Called[] | ((words: string) => readonly Called[]);
  /** before its last words: until all are let go, or for ever */
  readonly kept?: 'held' | 'ever';
  /** its last words; default `done NAME` */
  readonly says?: string;
};
export type Called = { readonly name: string; readonly args: object };

export type TalkModel = {
  /** as configured for `openai-completions` */
  readonly baseUrl: string;
  /** names of parts that were kept at least once since they are held */
  readonly kept: ReadonlySet<string>;
  /** From now on only those are kept that are kept for ever. */
  letGo(): void;
  /** From now on parts are kept again. */
  hold(): void;
  close(): Promise<void>;
};

/** Of the message that tells of results; not a name that a part may have. */
const REPORT = 'report';
export const REPORT_READ = 'It is all read.';

/** @param thinkMs before each answer, milliseconds; default 0 */
export async function startTalkModel(
  parts: Readonly<Record<string, Part>>,
  thinkMs = 0,
): Promise<TalkModel> {
  const server = await startOpenAiServer();
  const kept = new Set<string>();
  let letGo = () => {};
  let released: Promise<void> | undefined;
  const hold = () => {
    kept.clear();
    released = new Promise((resolve) => (letGo = resolve));
  };
  hold();
  server.otherwise((request): Plan => {
    const { name, words, step, about } = placeOf(request);
    const part: Part = name === REPORT ? { says: REPORT_READ } : (parts[name] ?? {});
    const calls = typeof part.calls === 'function' ? part.calls(words) : (part.calls ?? []);
    if (calls.length > 0 && step === 0)
      return {
        kind: 'answer',
        thinkMs,
        calls: calls.map((one, n) => ({ id: `call_${about}_${n}`, ...one })),
      };
    if (part.kept) kept.add(name);
    if (part.kept === 'ever') return { kind: 'stall', deltas: ['so '] };
    const until = part.kept && released ? { until: released } : {};
    return { kind: 'answer', thinkMs, deltas: [part.says ?? `done ${name}`], ...until };
  });
  return {
    baseUrl: server.baseUrl,
    kept,
    close: () => server.close(),
    letGo: () => letGo(),
    hold,
  };
}

type Message = { readonly role: string; readonly content?: unknown };

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (JSON.stringify(content) ?? '');

/** Whose part it is, and how many answers the run has had; `about` is the same in a repeat. */
function placeOf({ body }: SeenRequest) {
  const messages = body['messages'] as readonly Message[];
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const step = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length;
  const words = textOf(messages[asked]!);
  return { name: nameOf(messages, words), words, step, about: messages.length };
}

function nameOf(messages: readonly Message[], words: string): string {
  if (words.includes(REPORTS_TITLE)) return REPORT;
  if (!words.includes(ANNOUNCE_MESSAGE)) return lastName(words);
  const context = messages.filter(({ role }) => role === 'system').map(textOf);
  const [, request = ''] = /Original request: (.*)/.exec(context.join('\n')) ?? [];
  return `${lastName(request)}-announce`;
}

const lastName = (words: string): string =>
  [...words.matchAll(/\[([a-z0-9-]+)\]/g)].at(-1)?.[1] ?? '';
