/**
 * Allowed: commands that users allowed permanently, which an agent keeps. Pure parts of its
 * chart.
 */
import { parseAddress } from '../../protocols/address.ts';
import { ALLOWED_MAX, type AllowedPatterns } from '../../protocols/agent.ts';
import { APPROVER_ROLE } from '../../protocols/approval.ts';
import type { Reply } from '../../protocols/statechart.ts';
import { keyOf, unknown } from './slots.ts';
import { type AgentContext, type Allowed, type Args, on } from './types.ts';

/** Limit of all patterns together, because every turn of the agent writes them. */
export const ALLOWED_CHARACTERS_MAX = 65_536;
const PATTERN_CHARACTERS_MAX = 8_192;

/** A session of the agent, or an operator at an entry point; no actor on behalf of an operator. */
export function mayNotAllow({ context, event }: Args): boolean {
  const { from, principal } = event.meta;
  if (from === undefined) return principal?.roles.includes(APPROVER_ROLE) !== true;
  const own = parseAddress(context.self);
  const sender = parseAddress(from);
  const isOwn = sender.type === 'session' && sender.key.startsWith(`agent:${own.key}:`);
  return !isOwn || sender.tenant !== own.tenant;
}

/** The answer to a caller that may not do this. */
export const forbidden = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'FORBIDDEN',
    message: `commands of agent '${keyOf(context)}' are allowed by its own sessions and operators`,
  },
});

export const isNoPattern = on('agent.allow', ({ event }): boolean => {
  const { pattern } = event;
  return typeof pattern !== 'string' || !pattern.trim() || pattern.length > PATTERN_CHARACTERS_MAX;
});

export const noPattern = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'INVALID_ARGUMENT',
    message: `a pattern of commands has 1 to ${PATTERN_CHARACTERS_MAX} characters`,
  },
});

export const notConfigured = (args: Args): Reply => ({
  to: args.event.meta.reply,
  error: unknown(args),
});

/** The patterns with that of the event as the newest, and without those that it displaces. */
function withPattern({ context, event }: Args): readonly Allowed[] {
  if (event.type !== 'agent.allow') return context.allowed;
  const { pattern, by, meta } = event;
  // The entry point names the operator, whatever the message says.
  const name = meta.from ? by : (meta.principal?.sub ?? by);
  const all = [
    ...context.allowed.filter((one) => one.pattern !== pattern),
    { pattern, by: name, at: meta.now },
  ].slice(-ALLOWED_MAX);
  let characters = 0;
  const first = all.findLastIndex((one) => {
    characters += one.pattern.length;
    return characters > ALLOWED_CHARACTERS_MAX;
  });
  return all.slice(first + 1);
}

export const allow = (args: Args): Partial<AgentContext> => ({ allowed: withPattern(args) });

/** Call it before `allow`, because it compares with the patterns that were allowed until then. */
export function answered(args: Args): Reply {
  const after = withPattern(args);
  const kept = new Set(after.map(({ pattern }) => pattern));
  const leftOut = args.context.allowed.filter(({ pattern }) => !kept.has(pattern));
  const result: AllowedPatterns = {
    allowed: after.length,
    leftOut: leftOut.map(({ pattern }) => pattern),
  };
  return { to: args.event.meta.reply, result };
}
