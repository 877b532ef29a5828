/** The agents of a tenant and the hooks that their runs call, as the gateway knows them. */
import { Type } from '@sinclair/typebox';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import type { NamedAgent } from './sessions/session-key.ts';

const list = defineOperation({
  name: 'agents.list',
  scope: 'tenant',
  summary: 'List the agents with their models and workspaces',
  params: Type.Object({}),
  result: Type.Object({
    defaultAgentId: Type.String(),
    agents: Type.Array(ObjectOf<NamedAgent>()),
  }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/own-agents',
    operationId: 'listOwnAgents',
    responses: { 200: 'At most a second old' },
  },
  run({ agents, tenant }) {
    const { defaultAgentId, agents: own } = agents(tenant);
    return { defaultAgentId, agents: [...own] };
  },
});

const hooks = defineOperation({
  name: 'hooks.list',
  scope: 'tenant',
  summary: 'List the names of the hooks that this gateway has loaded for its runs',
  params: Type.Object({}),
  result: Type.Object({ hooks: Type.Array(Type.String()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/hooks',
    operationId: 'listHooks',
    responses: { 200: 'Names, as before_tool_call' },
  },
  run: (context) => ({ hooks: [...context.hooks(context.tenant)] }),
});

export const agents: Resource = { name: 'agents', operations: [list, hooks] };
