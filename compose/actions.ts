/** The actions that ship, as code and as data. */
import { conformanceActions } from '../actors/conformance/actions.ts';
import { factoryActions } from '../actors/factory/factory.ts';
import { registryActions } from '../actors/registry/actions.ts';
import { specOf } from '../actors/task/action.ts';
import type { ActionDefinition } from '../actors/task/action.ts';
import type { ActionSpec } from '../protocols/action.ts';

export const shippedActions = (): readonly ActionDefinition[] => [
  ...factoryActions(),
  ...conformanceActions(),
  ...registryActions(),
];

/** Sorted by name and version. */
export const shippedSpecs = (): readonly ActionSpec[] =>
  shippedActions()
    .map(specOf)
    .toSorted((a, b) =>
      `${a.action} ${a.action_version}` < `${b.action} ${b.action_version}` ? -1 : 1,
    );
