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
import { tasksOf } from './tasks.ts';

export type GatewayCatalogOptions = ActionToolOptions &
  Omit<OperationToolOptions, 'services'> & {
    readonly edge: Edge;
    readonly services: OperationServices;
    readonly evidence: EvidenceOptions;
  };

const INSTRUCTIONS =
  'The agents of a troupe installation. Tools named like domain__verb_object-v1 are actions of ' +
  'agents: their tasks are durable, and a long one continues after the call has returned. The other ' +
  'tools read or change the installation and need an operator.';

export const gatewayCatalog =
  (options: GatewayCatalogOptions) =>
  (caller: () => McpCaller): Catalog => {
    const resources: ResourceOptions = {
      services: options.services,
      edge: options.edge,
      evidence: (reader, jobId) => evidenceOf(options.evidence, reader, jobId),
    };
    return {
      instructions: INSTRUCTIONS,
      tools: () =>
        [...actionTools(options, caller()), ...operationTools(options, caller())].toSorted(
          (a, b) => (a.definition.name < b.definition.name ? -1 : 1),
        ),
      tool: (name) => actionTool(options, caller(), name) ?? operationTool(options, caller(), name),
      needOf: (name) =>
        needOfOperation(name) ?? (name.startsWith('task__get_status-') ? 'readTasks' : 'call'),
      resources: resourcesOf(resources, caller),
      prompts: promptsOf(resources, caller),
      complete: completionOf(resources, caller),
      tasks: tasksOf(options.edge, caller),
    };
  };
