/** The shipped agents: Process, Data, Verifier and Notifier. */
import { actionOf, type ProcessDefinition } from '../actors/process/define.ts';
import type { ActionDefinition } from '../actors/task/action.ts';
import { dataActions } from './data-agent.ts';
import { notifierActions } from './notifier-agent.ts';
import { publishDocument } from './publish-document.ts';
import { verifierActions } from './verifier-agent.ts';

export const factoryProcesses = (): readonly ProcessDefinition[] => [publishDocument];

/** Names of all four, and the actions that start processes. */
export const factoryActions = (): readonly ActionDefinition[] => [
  ...dataActions(),
  ...verifierActions(),
  ...notifierActions(),
  ...factoryProcesses().map(actionOf),
];
