/** The built-in actions, as code and as data. */
import { conformanceActions } from '../conformance/agent/actions.ts';
import { factoryActions } from '../sample-agents/factory.ts';
import { agentMessageActions, type MessagesFrom } from '../actors/agent-message/action.ts';
import { registryActions } from '../actors/registry/actions.ts';
import { specOf } from '../actors/task/action.ts';
import type { ActionDefinition } from '../actors/task/action.ts';
import type { ActionSpec } from '../protocols/action.ts';

/** Agents by the name of their set, as `a2a.agents` has them. */
const SETS = { factory: factoryActions, conformance: conformanceActions };
export type AgentSet = keyof typeof SETS;
const ALL_SETS: readonly AgentSet[] = ['factory', 'conformance'];

/** The agents of these sets, the registry's own actions, and messages to agents. */
export const shippedActions = (
  sets: readonly AgentSet[] = ALL_SETS,
  messagesFrom: MessagesFrom = 'operators',
): readonly ActionDefinition[] => [
  ...ALL_SETS.filter((set) => sets.includes(set)).flatMap((set) => SETS[set]()),
  ...registryActions(),
  ...agentMessageActions(messagesFrom),
];

/** Sorted by name and version. */
export const shippedSpecs = (
  sets?: readonly AgentSet[],
  messagesFrom?: MessagesFrom,
): readonly ActionSpec[] =>
  shippedActions(sets, messagesFrom)
    .map(specOf)
    .toSorted((a, b) =>
      `${a.action} ${a.action_version}` < `${b.action} ${b.action_version}` ? -1 : 1,
    );
