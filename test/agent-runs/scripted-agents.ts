/**
 * Agents whose models are scripts behind the providers' real protocols: a whole installation, and
 * one server that answers every request of every agent. A script receives what a real model would
 * receive and nothing else, so what it does not find in a request did not reach the model.
 */
import { expect, onTestFinished } from 'vitest';
import { type ConversationRow, CONVERSATIONS_INDEX } from '../../protocols/conversation.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { saidByAgent } from '../../agent/context/envelope.ts';
import { type SubagentRow, SUBAGENTS_INDEX } from '../../protocols/subagent.ts';
import { eventually } from '../runtime/eventually.ts';
import { type ServedApi, startModelServer } from '../servers/model-server.ts';
import type { Plan, ScriptedServer, SeenRequest } from '../servers/scripted-server.ts';
import { install, type Installation, providerOf } from './installation.ts';

/** One request, in the same form for each protocol. */
export type Turn = {
  /** the agent, as its prompt names it */
  readonly agent: string;
  readonly isSubagent: boolean;
  /** the last text that is no result of a tool; without the marks around text of an agent */
  readonly said: string;
  readonly isOfAgent: boolean;
  /** the results of tools since then */
  readonly results: readonly Said[];
  /** the whole conversation, oldest first */
  readonly parts: readonly Part[];
  /** the prompt and the names of the tools */
  readonly system: string;
  readonly tools: readonly string[];
  /** number of the request among all requests, from 0 */
  readonly request: number;
};
export type Part = { readonly kind: 'said' | 'answer' | 'result'; readonly text: string };
/** The result of a tool, parsed as JSON; `text` if it is not JSON. */
export type Said = Readonly<Record<string, unknown>>;
export type Script = (turn: Turn) => Plan | Promise<Plan>;

export const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });

let calls = 0;
/** One answer with these calls. */
export const wants = (...wanted: readonly (readonly [name: string, args: object])[]): Plan => ({
  kind: 'answer',
  deltas: ['I see to it. '],
  calls: wanted.map(([name, args]) => ({ id: `call_${++calls}`, name, args })),
});

export type Played = {
  readonly troupe: Installation;
  readonly server: ScriptedServer;
  /** all requests so far, parsed */
  readonly turns: () => readonly Turn[];
};

/**
 * An installation in which this script answers for all agents. It is stopped at the end of the
 * test.
 */
export async function play(
  api: ServedApi,
  script: Script,
  config: Readonly<Record<string, unknown>> = {},
): Promise<Played> {
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  server.otherwise((request) => script(turnOf(request, server.requests.indexOf(request))));
  const models = { providers: { p: providerOf(api, server) } };
  const troupe = await install({ config: { models, ...config } });
  return { troupe, server, turns: () => server.requests.map(turnOf) };
}

// ---- requests

type Block = { readonly type?: string; readonly text?: string; readonly content?: unknown };
type Message = Block & { readonly role?: string; readonly output?: unknown };

function turnOf({ body }: SeenRequest, request: number): Turn {
  const messages = (body['messages'] ?? body['input']) as readonly Message[];
  const all = messages.flatMap(partsOf);
  const first = messages.find(({ role }) => role === 'system' || role === 'developer');
  const system = textOf(body['system'] ?? body['instructions'] ?? first?.content);
  const parts = all.filter(({ text }) => text !== system);
  const at = parts.findLastIndex(({ kind }) => kind === 'said');
  const tools = (body['tools'] ?? []) as readonly { name?: string; function?: { name: string } }[];
  return {
    agent: /You are '([^']+)'/.exec(system)?.[1] ?? '',
    isSubagent: system.includes('You are a subagent'),
    said: saidByAgent(parts[at]?.text ?? ''),
    isOfAgent: parts[at]?.text.startsWith('<agent_message from=') ?? false,
    results: parts
      .slice(at + 1)
      .flatMap(({ kind, text }) => (kind === 'result' ? [readSaid(text)] : [])),
    parts,
    system,
    tools: tools.map(({ name, function: of }) => name ?? of?.name ?? ''),
    request,
  };
}

function partsOf(message: Message): Part[] {
  const { role, type, content } = message;
  if (type === 'function_call_output') return [{ kind: 'result', text: textOf(message.output) }];
  if (role === 'tool') return [{ kind: 'result', text: textOf(content) }];
  if (role === 'assistant') return [{ kind: 'answer', text: textOf(content) }];
  if (role === undefined || role === 'system' || role === 'developer') return [];
  const blocks = Array.isArray(content) ? (content as Block[]) : [{ text: textOf(content) }];
  return blocks.map((block): Part => {
    if (block.type === 'tool_result') return { kind: 'result', text: textOf(block.content) };
    return { kind: 'said', text: block.text ?? '' };
  });
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as Block[]).map(({ text = '' }) => text).join('');
}

/** The result of a tool without the marks that the model reads around it. */
export function readSaid(result: string): Said {
  const json = result.replace(/^<tool_result[^\n]*\n/, '').replace(/\n<\/tool_result>$/, '');
  try {
    return JSON.parse(json) as Said;
  } catch {
    return { text: json };
  }
}

// ---- outcomes

export const rowsOf = <Row>({ system }: Installation, index: string): Row[] =>
  system.index.list<Row>(index, 'default').map(({ value }) => value);
export const subagentsOf = (troupe: Installation) => rowsOf<SubagentRow>(troupe, SUBAGENTS_INDEX);
export const conversationsOf = (troupe: Installation) =>
  rowsOf<ConversationRow>(troupe, CONVERSATIONS_INDEX);

/** Waits until no subagent, conversation or run is active and no message waits. */
export const settled = (troupe: Installation) =>
  eventually(() => {
    const conversations = conversationsOf(troupe);
    expect(conversations.filter(({ status }) => status !== 'ended')).toEqual([]);
    const subagents = subagentsOf(troupe);
    expect(subagents.filter(({ reported }) => reported === undefined)).toEqual([]);
    const sessions = rowsOf<{ status: string; pending: number }>(troupe, 'sessions');
    expect(sessions.filter((one) => one.status !== 'idle' || one.pending > 0)).toEqual([]);
    return { conversations, subagents };
  });

/** The results of a session's tool calls, in order. */
export const resultsOf = async (troupe: Installation, sessionKey: string): Promise<Said[]> =>
  (await troupe.transcript(sessionKey)).flatMap((one) =>
    one.type === 'tool' ? [readSaid(one.result)] : [],
  );

type Of<Type extends SessionEntry['type']> = Extract<SessionEntry, { type: Type }>;
/** The messages that a session received, with their origin. */
export const heardBy = async (
  troupe: Installation,
  sessionKey: string,
): Promise<readonly Of<'user'>[]> =>
  (await troupe.transcript(sessionKey)).filter((one): one is Of<'user'> => one.type === 'user');

/** A gate at which a script waits until the test opens it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
