/**
 * Finds the tool calls that a message requests from the offline model. Pure.
 *
 *  - `call <tool> {json}`: that call; consecutive calls are one round of parallel calls, `then`
 *    starts the next round
 *  - `use the tool <tool> <text>`: the text is the JSON arguments, or the value of the tool's first
 *    text parameter (also `dùng công cụ …`, `使用工具 …`)
 *  - an order for another agent (orders.ts)
 *  - a question about the time, or about the value of an expression, if there is a tool `clock` or
 *    `calculate`
 */
import { isTooDeep } from '../../../protocols/json-depth.ts';
import { withoutQuotes } from '../../context/envelope.ts';
import type { ToolSpec } from '../model.ts';
import { withoutDirectives } from './directives.ts';
import { handedOnCalls, type Wanted } from './orders.ts';

export type Rounds = readonly (readonly Wanted[])[];

/** `rest`: the text beside the calls; its directives apply to this answer. */
export type Asked = { readonly rest: string } & (
  | { readonly rounds: Rounds }
  /** a requested tool that does not exist */
  | { readonly missing: string }
);

/** Rounds of calls that the message requests, outside its quotations. */
export const askedIn = (text: string, tools: readonly ToolSpec[]): Asked => {
  const handedOn = handedOnCalls(text, tools);
  if (handedOn.length > 0) return { rest: '', rounds: [handedOn] };
  const own = withoutQuotes(text);
  const { rounds: written, rest } = writtenCalls(own, tools);
  const rounds =
    written.length > 0 ? written : [impliedCall(withoutDirectives(own), tools)].filter(isFull);
  const missing = rounds.flat().find(({ name }) => !specNamed(name, tools));
  return missing ? { rest, missing: missing.name } : { rest, rounds };
};

const specNamed = (name: string, tools: readonly ToolSpec[]): ToolSpec | undefined =>
  tools.find((tool) => tool.name === name || tool.aliases?.includes(name));

const isFull = (round: readonly Wanted[]): boolean => round.length > 0;

const callPattern = /\bcall\s+([A-Za-z0-9_-]{1,64})(?=\s*(\{|$|\b(?:then|and)\b|[,.;]))/gi;

type Written = { readonly rounds: readonly (readonly Wanted[])[]; readonly rest: string };

const writtenCalls = (text: string, tools: readonly ToolSpec[]): Written => {
  const rounds: Wanted[][] = [];
  let rest = '';
  let end = 0;
  for (const match of text.matchAll(callPattern)) {
    if (match.index < end) continue; // inside the JSON of the call before
    const [whole, name = '', next] = match;
    const known = specNamed(name, tools) !== undefined;
    if (!known && next !== '{') continue; // "call me" is not a tool call
    const json =
      next === '{'
        ? jsonAt(text, match.index + whole.length)
        : { value: {}, end: match.index + whole.length };
    const between = text.slice(end, match.index);
    if (rounds.length === 0 || /\bthen\b/i.test(between)) rounds.push([]);
    rounds.at(-1)?.push({ name, args: json.value });
    rest += between;
    end = json.end;
  }
  return { rounds, rest: rest + text.slice(end) };
};

/** The first JSON object at or after `from`; the text itself when it is not valid JSON. */
const jsonAt = (text: string, from: number): { value: unknown; end: number } => {
  const start = text.indexOf('{', from);
  const end = closingBrace(text, start);
  const json = text.slice(start, end);
  // `JSON.stringify` would overflow the stack of some versions of Node.
  if (isTooDeep(json)) return { value: json, end };
  try {
    return { value: JSON.parse(json) as unknown, end };
  } catch {
    return { value: json, end };
  }
};

/** Position after the brace that matches the one at `start`; ignores braces in strings. */
const closingBrace = (text: string, start: number): number => {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (inString) {
      if (sign === '\\') at++;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === '{') depth++;
    else if (sign === '}' && --depth === 0) return at + 1;
  }
  return text.length;
};

const usePattern =
  /(?:\buse (?:the )?tool|dùng công cụ|使用工具)\s+([A-Za-z0-9_-]{1,64})(?:\s+(?:with|với|to))?[\s:]*([^]*)$/i;
const timePattern = /what(?:'s| is)? (?:the )?time|what time is it|mấy giờ|几点|什么时间/i;
const sumPattern =
  /(?:calculate|compute|what(?:'s| is)|how much is|tính|bằng mấy|计算|等于)[\s:]*([-+(\d.][-+*/%^().,\d\s]*[\d)])/i;

const impliedCall = (text: string, tools: readonly ToolSpec[]): Wanted[] => {
  const use = usePattern.exec(text);
  if (use?.[1]) {
    const args = argsFrom((use[2] ?? '').trim(), specNamed(use[1], tools));
    return [{ name: use[1], args }];
  }
  const has = (name: string) => tools.some((tool) => tool.name === name);
  if (has('clock') && timePattern.test(text)) return [{ name: 'clock', args: {} }];
  const sum = has('calculate') ? sumPattern.exec(text)?.[1] : undefined;
  return sum ? [{ name: 'calculate', args: { expression: sum.trim() } }] : [];
};

const argsFrom = (text: string, spec: ToolSpec | undefined): unknown => {
  if (text === '') return {};
  if (text.startsWith('{')) return jsonAt(text, 0).value;
  const properties = Object.entries(
    (spec?.parameters.properties ?? {}) as Record<string, { type?: unknown }>,
  );
  const first = properties.find(([, property]) => property.type === 'string')?.[0];
  return { [first ?? 'input']: text };
};
