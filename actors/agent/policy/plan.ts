/** Plans the calls of an answer: what each one may do before any of them runs. */
import type { AgentSettings } from '../../../protocols/agent.ts';
import type { ToolCall } from '../../../protocols/session.ts';
import type { PlannedCall } from '../../session/types.ts';
import type { HookAbout, Hooks } from '../hooks/hooks.ts';
import type { ToolSpec } from '../models/model.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { confinementOf } from './confinement.ts';

export { confinementOf } from './confinement.ts';

export type PlanContext = {
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  /** as they were when the run was admitted */
  readonly settings: AgentSettings;
  readonly about: HookAbout;
  /** patterns of commands that people allowed for good (`AgentRow.allowed`) */
  readonly allowed: readonly string[];
};

/** Names, schemas, policy, hooks and questions: PlannedCall of each call, in their order. */
export const planCalls = async (
  calls: readonly ToolCall[],
  { tools, settings, about }: PlanContext,
): Promise<PlannedCall[]> =>
  calls.map((call) => {
    const tool = tools.get(call.name);
    const refused = tools.check(call.name, call.args);
    return {
      ...call,
      name: tool?.name ?? call.name,
      class: tool?.class ?? 'repeatable',
      parallel: tool?.parallel ?? true,
      ...(refused === undefined ? {} : { refused }),
      confinement: confinementOf(settings, about.sessionKey),
    };
  });

/** What the models of a session are told of: what policy leaves and what can run here. */
export const offeredTools = (
  tools: ToolRegistry,
  _settings: AgentSettings,
  _sessionKey: string,
): readonly ToolSpec[] => tools.specs();
