/**
 * Recognizes plain-language orders by which the offline model passes work to another agent. Pure.
 *
 *   ask coder to …      hỏi agent coder …      问 coder …        a message to its main session
 *   delegate to coder: …   giao cho coder: …   委托 coder：…      a task for a subagent
 *
 * The message must begin with an order. Each line that begins with an order is a separate call of
 * the same round. The other agent receives the rest of the line and the following lines, including
 * calls and directives.
 */
import { sessionKey as keys } from '../../../protocols/session-key.ts';
import type { ToolSpec } from '../model.ts';

/** A call that a message requests. */
export type Wanted = { readonly name: string; readonly args: unknown };

const ID = '([a-z0-9][a-z0-9_-]{0,62})';
/** Not agent ids: "ask me to …". */
const NOT_AGENTS = new Set('me you him her us them it someone anyone everyone'.split(' '));

const SEND = new RegExp(
  `^(?:(?:please )?ask (?:the )?(?:agent )?${ID}(?: to:?\\s|:)` +
    `|hỏi agent ${ID}(?:[:,]|\\s)|问 ?${ID}(?:[:：,，\\s]|(?=\\p{Script=Han})))\\s*`,
  'iu',
);
const SPAWN = new RegExp(
  `^(?:(?:please )?delegate to (?:the )?(?:agent )?${ID}:` +
    `|giao cho (?:agent )?${ID}:|委托 ?${ID}[:：])\\s*`,
  'iu',
);

/** Empty when the message does not begin with an order, or the tool for it is missing. */
export const handedOnCalls = (text: string, tools: readonly ToolSpec[]): readonly Wanted[] => {
  const has = (name: string) => tools.some((tool) => tool.name === name);
  const calls: { readonly order: Order; readonly lines: string[] }[] = [];
  for (const line of text.trim().split('\n')) {
    const order = orderIn(line, has);
    if (order) calls.push({ order, lines: [line.slice(order.length)] });
    else if (calls.length === 0) return [];
    else calls.at(-1)!.lines.push(line);
  }
  return calls.map(({ order, lines }) => order.callOf(lines.join('\n').trim()));
};

type Order = { readonly length: number; callOf(content: string): Wanted };

const orderIn = (line: string, has: (tool: string) => boolean): Order | undefined => {
  const spawn = has('sessions_spawn') ? SPAWN.exec(line) : null;
  const send = has('sessions_send') ? SEND.exec(line) : null;
  const found = spawn ?? send;
  const agentId = found?.slice(1).find(Boolean)?.toLowerCase();
  if (!found || agentId === undefined || NOT_AGENTS.has(agentId)) return undefined;
  const callOf = (content: string): Wanted =>
    spawn
      ? { name: 'sessions_spawn', args: { agentId, task: content } }
      : { name: 'sessions_send', args: { sessionKey: keys.main(agentId), message: content } };
  return { length: found[0].length, callOf };
};
