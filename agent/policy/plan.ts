/**
 * Plans the tool calls of an answer before any of them runs. The plan is committed with the answer,
 * so a run that continues on another worker uses the same decisions.
 *
 * The first matching check decides: number of calls, name, policy, arguments, hooks (and the
 * arguments again when a hook changed them), approval.
 *
 * Boundary: pure except for the hooks. It runs no tool and requests no approval; the session's
 * machine does both.
 *
 * Invariants:
 *  1. Each call gets exactly one plan, in the order of the calls.
 *  2. A refused call has an explanation that a model can act on, and never an approval question.
 *  3. No tool runs with arguments that its schema refuses, even when a hook made them.
 *  4. A call is refused when its hook fails.
 */
import type { AgentSettings } from '../../protocols/agent.ts';
import { errorData } from '../../protocols/errors.ts';
import type { ToolCall } from '../../protocols/session.ts';
import { LruMap } from '../../runtime/index.ts';
import type { PlannedCall } from './planned-call.ts';
import type { HookAbout, Hooks } from '../hooks/hooks.ts';
import type { ToolSpec } from '../models/model.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { confinementOf } from './confinement.ts';
import { alwaysPattern, isAllowedCommand } from './exec-patterns.ts';
import { listsOf, refusalOf, refusals } from './lists.ts';
import { visible } from './shell-line.ts';

export { confinementOf } from './confinement.ts';

/** Maximum number of calls of one answer that may run; the others are refused. */
export const CALLS_MAX = 32;
/** Maximum length of an approval's text: an operator must see all of what they approve. */
const DETAIL_CHARACTERS_MAX = 7_000;
/** Default time for an approval, milliseconds. */
const ASK_FOR_MS_DEFAULT = 1_800_000;

export type PlanContext = {
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  /** of the agent when the run was admitted */
  readonly settings: AgentSettings;
  readonly about: HookAbout;
  /** patterns of commands that users allowed permanently (`AgentRow.allowed`) */
  readonly allowed: readonly string[];
};

/** Runs the hooks one call at a time, in order. Never throws because of a call. */
export const planCalls = async (
  calls: readonly ToolCall[],
  context: PlanContext,
): Promise<PlannedCall[]> => {
  const planned: PlannedCall[] = [];
  for (const call of calls) {
    const isTooMany = planned.length >= CALLS_MAX;
    planned.push(isTooMany ? refused(call, context, tooMany) : await planOf(call, context));
  }
  return planned;
};

const tooMany =
  `Not run: an answer may have at most ${CALLS_MAX} calls, and this one exceeds the limit. ` +
  'Call it again, if you still need it, when you have read the results.';

const planOf = async (call: ToolCall, context: PlanContext): Promise<PlannedCall> => {
  const tool = context.tools.get(call.name);
  if (!tool) return refused(call, context, unknownTool(call.name, context));
  const { settings, about } = context;
  const why = refusalOf(tool, settings, about.sessionKey) ?? tool.unavailable?.();
  if (why !== undefined) return refused(call, context, notAllowed(tool, why));
  const fault = context.tools.check(tool.name, call.args);
  if (fault !== undefined) return refused(call, context, fault);
  const { args, block } = await hooked(tool, call, context);
  if (block !== undefined) return refused(call, context, block);
  const asked = questionOf(tool, args, context);
  const length = asked.question?.detail.length ?? 0;
  if (length > DETAIL_CHARACTERS_MAX) return refused(call, context, tooLongToAsk(length));
  return {
    id: call.id,
    name: tool.name,
    args,
    class: tool.classOf?.(args) ?? tool.class,
    parallel: tool.parallel,
    ...asked,
    confinement: confinementOf(settings, about.sessionKey),
  };
};

const tooLongToAsk = (length: number): string =>
  `Not run: it requires approval, and an operator must see all of it; ${length} characters are ` +
  `too many (${DETAIL_CHARACTERS_MAX}). Make it shorter. Write it to a file of the workspace and run the file, if it is a command.`;

const refused = (call: ToolCall, context: PlanContext, why: string): PlannedCall => ({
  id: call.id,
  name: context.tools.get(call.name)?.name ?? call.name,
  args: call.args,
  class: 'repeatable',
  parallel: true,
  refused: why,
  confinement: confinementOf(context.settings, context.about.sessionKey),
});

const notAllowed = ({ name }: Tool, why: string): string =>
  `Not run: ${name} cannot be used here: ${why}. Continue without it, or tell the user why you need it.`;

/** Names only tools that the model may use, so that hidden tools stay hidden. */
const unknownTool = (name: string, { tools, settings, about }: PlanContext): string => {
  const known = offeredTools(tools, settings, about.sessionKey).map((spec) => spec.name);
  const shown = JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
  return `There is no tool named ${shown}. Tools: ${known.join(', ') || 'none'}.`;
};

type Hooked = { readonly args: unknown; readonly block?: string };

/** The arguments after the hooks, or why the call does not run. */
const hooked = async (tool: Tool, call: ToolCall, context: PlanContext): Promise<Hooked> => {
  const { args, id: callId } = call;
  if (!context.hooks.has('before_tool_call')) return { args };
  const event = { name: tool.name, callId, args };
  try {
    const result = await context.hooks.run('before_tool_call', event, context.about);
    if (result?.block !== undefined) return { args, block: `Not run: ${result.block}` };
    if (result?.args === undefined) return { args };
    const fault = context.tools.check(tool.name, result.args);
    return fault === undefined
      ? { args: result.args }
      : { args, block: `Not run: a hook of this installation changed the call. ${fault}` };
  } catch (error) {
    return { args, block: `Not run: ${errorData(error).message}` };
  }
};

/** The approval question. Calls that a sandbox confines need none. */
const questionOf = (
  tool: Tool,
  args: unknown,
  { settings, about, allowed }: PlanContext,
): Pick<PlannedCall, 'question'> => {
  const { ask = 'on-miss', allow = [], askForMs = ASK_FOR_MS_DEFAULT } = settings.tools?.exec ?? {};
  const question = tool.question?.(args);
  if (!question) return {};
  const { command, detail, target, scope = 'host' } = question;
  const isTargeted = target !== undefined;
  const line = isTargeted ? `${command} ${target}` : command;
  const isConfined = confinementOf(settings, about.sessionKey).sandboxed;
  if (scope === 'host' && (ask === 'off' || isConfined)) return {};
  const isEach = scope === 'host' ? ask === 'always' : scope === 'each-call';
  const isAllowed = isTargeted
    ? isAllowedCommand(command, allow) || isAllowedCommand(line, allowed)
    : isAllowedCommand(line, [...allow, ...allowed]);
  if (!isEach && isAllowed) return {};
  const pattern = isEach ? '' : alwaysPattern(line);
  const shown = { command: visible(command), detail: visible(detail) };
  return { question: { ...shown, pattern, forMs: askForMs } };
};

/** Different offers of one registry that are kept. */
const OFFERS_MAX = 64;
/** By the list of tools, which is another one when a tool has changed. */
const offers = new WeakMap<readonly Tool[], LruMap<string, readonly ToolSpec[]>>();

/**
 * The tools that a session's models are offered: those that policy allows and that can run here.
 * Equal offers are one array: every model call of a run asks for one.
 */
export const offeredTools = (
  tools: ToolRegistry,
  settings: AgentSettings,
  sessionKey: string,
): readonly ToolSpec[] => {
  const all = tools.all();
  const missing = unavailableOf(all);
  const key = JSON.stringify([listsOf(settings, sessionKey), missing]);
  const known = offers.get(all) ?? new LruMap<string, readonly ToolSpec[]>(OFFERS_MAX);
  offers.set(all, known);
  let offer = known.get(key);
  if (!offer) {
    const refusal = refusals(settings, sessionKey);
    const isRefused = all.map((tool) => refusal(tool) !== undefined);
    // both are in order of registration
    offer = tools.specs().filter((_, at) => !isRefused[at] && !missing.includes(at));
    known.set(key, offer);
  }
  return offer;
};

/** Places of the tools that cannot run here, in order of registration. */
function unavailableOf(tools: readonly Tool[]): readonly number[] {
  const missing: number[] = [];
  for (let at = 0; at < tools.length; at++)
    if (tools[at]!.unavailable?.() !== undefined) missing.push(at);
  return missing;
}
