/** What the composition root gives to the effects of agents. */
import type { ModelCatalog } from './models/catalog.ts';
import type { ToolRegistry } from './tools/registry.ts';

export type AgentServices = { readonly catalog: ModelCatalog; readonly tools: ToolRegistry };
