/**
 * A model provider on 127.0.0.1 that answers for agents by a script. The last message contains
 * `[NAME]`, and the script of that name determines the answers. A script can hold its last answer
 * until the test releases all of them, so that the test can observe each state of a conversation.
 * The provider runs in the test process, so no kill ends it.
 *
 * The answer depends only on the request and on the release: a repeated request has the same
 * answer.
 */
import { ANNOUNCE_MESSAGE } from '../../../actors/conversation/prompts.ts';
import { REPORTS_TITLE } from '../../../protocols/subagent.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { Plan, SeenRequest } from '../../servers/scripted-server.ts';

/** What a run does whose message contains the script's name. */
export type Script = {
  /** tool calls of its first answer, or a function of the message's text */
  readonly calls?: readonly Called[] | ((words: string) => readonly Called[]);
  /** delays its last answer until the release, or forever */
  readonly hold?: 'until-release' | 'forever';
  /** its last answer; default `done NAME` */
  readonly says?: string;
  /** its last answer waits until this script is held */
  readonly after?: string;
};
export type Called = { readonly name: string; readonly args: object };

export type AgentModel = {
  /** the base URL for `openai-completions` */
  readonly baseUrl: string;
  /** names of scripts that were held since the last `hold` */
  readonly held: ReadonlySet<string>;
  /** From now on only scripts with `forever` are held. */
  release(): void;
  /** From now on scripts are held again. */
  hold(): void;
  close(): Promise<void>;
};

/** The name for messages with reports of subagents; no script has it. */
const REPORT = 'report';
export const REPORT_READ = 'It is all read.';

/** @param thinkMs delay before each answer, milliseconds; default 0 */
export async function startAgentModel(
  scripts: Readonly<Record<string, Script>>,
  thinkMs = 0,
): Promise<AgentModel> {
  const server = await startOpenAiServer();
  const held = new Set<string>();
  /** by name: called when the script is held */
  const awaited = new Map<string, (() => void)[]>();
  const isHeld = (name: string) =>
    new Promise<void>((resolve) => {
      if (held.has(name)) resolve();
      else awaited.set(name, [...(awaited.get(name) ?? []), resolve]);
    });
  let release = () => {};
  let released: Promise<void> | undefined;
  const hold = () => {
    held.clear();
    released = new Promise((resolve) => (release = resolve));
  };
  hold();
  server.otherwise((request): Plan => {
    const { name, words, step, about } = placeOf(request);
    const script: Script = name === REPORT ? { says: REPORT_READ } : (scripts[name] ?? {});
    const calls = typeof script.calls === 'function' ? script.calls(words) : (script.calls ?? []);
    if (calls.length > 0 && step === 0)
      return {
        kind: 'answer',
        thinkMs,
        calls: calls.map((one, n) => ({ id: `call_${about}_${n}`, ...one })),
      };
    if (script.hold) {
      held.add(name);
      for (const resolve of awaited.get(name) ?? []) resolve();
      awaited.delete(name);
    }
    if (script.after !== undefined)
      return {
        kind: 'answer',
        thinkMs,
        deltas: [script.says ?? `done ${name}`],
        until: isHeld(script.after),
      };
    if (script.hold === 'forever') return { kind: 'stall', deltas: ['so '] };
    const until = script.hold && released ? { until: released } : {};
    return { kind: 'answer', thinkMs, deltas: [script.says ?? `done ${name}`], ...until };
  });
  return {
    baseUrl: server.baseUrl,
    held,
    close: () => server.close(),
    release: () => release(),
    hold,
  };
}

type Message = { readonly role: string; readonly content?: unknown };

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (JSON.stringify(content) ?? '');

/**
 * The script of a request, and how many answers its run has had; `about` is the same in a repeat.
 */
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
