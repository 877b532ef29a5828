/**
 * assemble: builds the prompt of a run once, and calls the hooks that may change it. `repeatable`:
 * it changes nothing; hooks may be called again. Usually the first model call of a run does this
 * (call-model.ts); the separate effect is for runs without a successful first call.
 *
 * It precedes every run and must be cheap: for an unchanged workspace it makes a few `stat` calls
 * and reuses the last prompt.
 */
import { address } from '../../../protocols/address.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import { type EffectContext, type EffectDefinition, LruMap } from '../../../runtime/index.ts';
import { MAIN_MEMORY } from '../../../memory/index.ts';
import { chosenFor } from '../../../agent/models/chosen.ts';
import type { HookAbout, Hooks } from '../../../agent/hooks/hooks.ts';
import { confinementOf, offeredTools } from '../../../agent/policy/plan.ts';
import {
  AgentFiles,
  type AgentParts,
  SHARED_SKILLS_PATH,
} from '../../../agent/prompt/agent-files.ts';
import { composePrompt, type Prompt, replaced } from '../../../agent/prompt/compose.ts';
import type { FoundFile, PromptFacts } from '../../../agent/prompt/sources.ts';
import { type AgentServices, servicesOf } from '../../../agent/services.ts';
import { checkLease } from './check-lease.ts';
import { firstOf } from '../../kit/text.ts';
import type { AssembleInput, AssembleOutput } from '../types.ts';

const PREPEND_CHARACTERS_MAX = 32_768;
/** Hooks about the end of a run, which the effect `reply` calls. */
const replyNames = ['agent_end', 'message_sending', 'message_sent'] as const;

export const assemble: EffectDefinition<AssembleInput, AssembleOutput> = {
  class: 'repeatable',
  workspace: 'discard',
  placement: ({ tenant, agentId }) => ({ workspacesOf: [address(tenant, 'agent', agentId)] }),
  run: assembled,
};

/** The prompt of a run with the changes of its hooks. */
export async function assembled(
  input: AssembleInput,
  context: EffectContext,
): Promise<AssembleOutput> {
  if (input.standing) await checkLease(input.standing, context);
  const { hooks, tools } = servicesOf(context);
  await tools.ready();
  const { tenant, agentId, sessionKey, runId } = input;
  const about: HookAbout = { tenant, agentId, sessionKey, runId };
  if (input.ended && hooks.has('session_end')) await hooks.run('session_end', input.ended, about);
  if (input.isFirst && hooks.has('session_start'))
    await hooks.run('session_start', { sessionId: input.sessionId }, about);
  const made = await promptFor(input, context, about);
  const { prompt, prepend } = await begun(made, input, hooks, about);
  const { system, report, digest } = prompt;
  return {
    digest,
    ...(digest === input.digest ? {} : { prompt: { system, report } }),
    ...(prepend === undefined ? {} : { prepend }),
    replyHooks: replyNames.some((name) => hooks.has(name)),
    ...(hooks.has('session_end') ? { endHooks: true } : {}),
  };
}

/** The prompt that a run of the session would have now, and its sources. */
export async function promptFor(
  input: Pick<
    AssembleInput,
    | 'tenant'
    | 'agentId'
    | 'sessionKey'
    | 'model'
    | 'settings'
    | 'extraSystemPrompt'
    | 'isSubagent'
    | 'parent'
  >,
  context: Pick<EffectContext, 'services' | 'actor' | 'peek' | 'now'>,
  about: HookAbout,
): Promise<Prompt> {
  const services = servicesOf(context);
  const { hooks } = services;
  const looked = await filesOf(services).look(input.tenant, input.agentId, context);
  const found = seenBy(input, looked);
  const facts = factsOf(input, services, context.now());
  if (!hooks.has('agent:bootstrap')) return remembered(facts, found);
  return composePrompt(facts, await bootstrapped(found, hooks, about));
}

function factsOf(
  input: Parameters<typeof promptFor>[0],
  { catalog, tools }: AgentServices,
  now: number,
): PromptFacts {
  const { settings, sessionKey, agentId, extraSystemPrompt, parent } = input;
  const { name, model } = catalog.resolve(chosenFor(catalog, input).names[0]);
  return {
    agentId,
    settings,
    model: name,
    window: model.contextWindow,
    confinement: confinementOf(settings, sessionKey),
    now,
    tools: offeredTools(tools, settings, sessionKey).map((tool) => tool.name),
    ...(extraSystemPrompt === undefined ? {} : { extraSystemPrompt }),
    ...(parent === undefined ? {} : { subagentOf: agentOf(parent) }),
  };
}

function agentOf(sessionKey: string): string {
  const parts = parseSessionKey(sessionKey);
  return 'agentId' in parts ? parts.agentId : sessionKey;
}

const SUBAGENT_FILES: ReadonlySet<string> = new Set(['AGENTS.md', 'TOOLS.md']);
const ofSubagents = new WeakMap<AgentParts, AgentParts>();
const ofOthers = new WeakMap<AgentParts, AgentParts>();

/**
 * The files that a session sees. Of a subagent: no persona, no memory, and no skill in a workspace
 * that it may not read. Only the main session sees MEMORY.md. Returns the same object for the same
 * files.
 */
function seenBy(
  { isSubagent, sessionKey }: Pick<AssembleInput, 'isSubagent' | 'sessionKey'>,
  parts: AgentParts,
): AgentParts {
  if (isSubagent)
    return remade(parts, ofSubagents, ({ files, skills }) => ({
      files: files.filter(({ name }) => SUBAGENT_FILES.has(name)),
      skills: skills.filter(({ path }) => path.startsWith(`${SHARED_SKILLS_PATH}/`)),
    }));
  if (parseSessionKey(sessionKey).type === 'main') return parts;
  return remade(parts, ofOthers, ({ files }) => ({
    files: files.filter(({ name }) => name !== MAIN_MEMORY),
  }));
}

function remade(
  parts: AgentParts,
  known: WeakMap<AgentParts, AgentParts>,
  change: (parts: AgentParts) => Partial<AgentParts>,
): AgentParts {
  const made = known.get(parts) ?? { ...parts, ...change(parts) };
  known.set(parts, made);
  return made;
}

/** Hooks receive the readable files; files that they removed are reported as such. */
async function bootstrapped(
  found: AgentParts,
  hooks: Hooks,
  about: HookAbout,
): Promise<AgentParts> {
  const files = found.files.flatMap(({ name, text }) =>
    text === undefined ? [] : [{ name, text }],
  );
  const changed = await hooks.run('agent:bootstrap', { files }, about);
  if (!changed) return found;
  const names = new Set(changed.files.map(({ name }) => name));
  const others: FoundFile[] = found.files
    .filter(({ name }) => !names.has(name))
    .map(({ name, left }) => ({ name, left: left ?? 'hook' }));
  return { ...found, files: [...changed.files, ...others] };
}

async function begun(
  prompt: Prompt,
  input: AssembleInput,
  hooks: Hooks,
  about: HookAbout,
): Promise<{ prompt: Prompt; prepend?: string }> {
  if (!hooks.has('before_agent_start')) return { prompt };
  const event = { prompt: input.text, system: prompt.system };
  const { system, prependContext } = (await hooks.run('before_agent_start', event, about)) ?? {};
  return {
    prompt: system === undefined || system === prompt.system ? prompt : replaced(prompt, system),
    ...(prependContext ? { prepend: firstOf(prependContext, PREPEND_CHARACTERS_MAX) } : {}),
  };
}

// ---- caches of this process

const files = new WeakMap<AgentServices, AgentFiles>();

/** One instance per composition, whose workspaces stay the same. */
export function filesOf(services: AgentServices): AgentFiles {
  let known = files.get(services);
  if (!known) files.set(services, (known = new AgentFiles(services)));
  return known;
}

/** Recent prompts of the same files, for other sessions, models or days. */
const PROMPTS_MAX = 8;
const prompts = new WeakMap<AgentParts, LruMap<string, Prompt>>();

function remembered(facts: PromptFacts, parts: AgentParts): Prompt {
  const { now, settings, ...rest } = facts;
  const quarter = Math.floor(now / 900_000); // a day begins on a quarter of an hour in every zone
  const key = JSON.stringify([quarter, settings.purpose, rest]);
  const known = prompts.get(parts) ?? new LruMap<string, Prompt>(PROMPTS_MAX);
  prompts.set(parts, known);
  let prompt = known.get(key);
  if (!prompt) {
    prompt = composePrompt(facts, parts);
    known.set(key, prompt);
  }
  return prompt;
}
