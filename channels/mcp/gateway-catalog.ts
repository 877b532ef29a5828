/** The catalog of a gateway: its actions, operations, sessions, notes, tasks and evidence. */
import type { OperationServices } from '../../operations/operation.ts';
import type { Edge } from '../edge/edge.ts';
import { type EvidenceOptions, evidenceOf } from '../http/evidence.ts';
import { actionTool, actionTools, type ActionToolOptions } from './action-tools.ts';
import type { Catalog, McpCaller } from './catalog.ts';
import {
  needOfOperation,
  operationTool,
  type OperationToolOptions,
  operationTools,
} from './operation-tools.ts';
import { completionOf, promptsOf, type ResourceOptions, resourcesOf } from './resources.ts';
import { type SkillOptions, skillsFor } from './skills.ts';
import { TASK_CHART, TaskCharts } from './task-app.ts';
import { tasksOf } from './tasks.ts';

export type GatewayCatalogOptions = ActionToolOptions &
  Omit<OperationToolOptions, 'services'> & {
    readonly edge: Edge;
    readonly services: OperationServices;
    readonly evidence: EvidenceOptions;
    readonly skills: SkillOptions;
  };

const INSTRUCTIONS =
  'The agents of a troupe installation. Tools named like domain__verb_object-v1 are actions of ' +
  'agents: their tasks are durable, and a long one continues after the call has returned. The other ' +
  'tools read or change the installation and need an operator.';

export const gatewayCatalog = (
  options: GatewayCatalogOptions,
): ((caller: () => McpCaller) => Catalog) => {
  const { edge, services, taskApp } = options;
  const charts = taskApp && new TaskCharts({ edge, system: services.system });
  return (caller) => {
    const resources: ResourceOptions = {
      services,
      edge,
      evidence: (reader, jobId) => evidenceOf(options.evidence, reader, jobId),
      skills: (reader) => skillsFor(options.skills, reader),
      taskApp,
    };
    return {
      instructions: INSTRUCTIONS,
      tools: () =>
        [
          ...actionTools(options, caller()),
          ...operationTools(options, caller()),
          ...(charts ? [charts.tool(caller())] : []),
        ].toSorted((a, b) => (a.definition.name < b.definition.name ? -1 : 1)),
      tool: (name) =>
        charts && name === TASK_CHART
          ? charts.tool(caller())
          : (actionTool(options, caller(), name) ?? operationTool(options, caller(), name)),
      needOf: (name) => needOfOperation(name) ?? (READS_TASKS.test(name) ? 'readTasks' : 'call'),
      resources: resourcesOf(resources, caller),
      prompts: promptsOf(resources, caller),
      complete: completionOf(resources, caller),
      tasks: tasksOf(edge, caller),
      ...skillsOf(options.skills, caller),
    };
  };
};

const READS_TASKS = /^task__get_(status-v\d+|chart-v1)$/;

/** Declared also to a caller that sees none, because a session keeps what was declared. */
const skillsOf = (options: SkillOptions, caller: () => McpCaller): Pick<Catalog, 'skills'> =>
  options.skillsFor === 'none'
    ? {}
    : {
        skills: {
          list: async (cursor) =>
            (await skillsFor(options, caller())?.list(cursor)) ?? { skills: [] },
          get: async (uri) => skillsFor(options, caller())?.get(uri),
          directory: async (uri) => skillsFor(options, caller())?.directory(uri),
        },
      };
