/** What troupe is made of: `agents.list`, `models.list`. */
import { type MethodTable, published } from './method.ts';
import type { Request } from './request.ts';
import { modelParts } from './sessions.ts';

const agentsList = ({ door: { names } }: Request) => ({
  defaultId: names.defaultAgentId,
  mainKey: names.mainKey,
  scope: 'per-sender',
  agents: names.agents.map(({ id, model }) => ({ id, name: id, model: { primary: model } })),
});

/** The models that agents are configured with. */
const modelsList = ({ door: { names } }: Request) => {
  const models = [...new Set(names.agents.map(({ model }) => model))];
  return {
    models: models.map((full) => {
      const { modelProvider = 'unknown', model = full } = modelParts(full);
      return { id: model, name: model, provider: modelProvider, available: true };
    }),
  };
};

export const setupTable: MethodTable = [
  published('agents.list', agentsList),
  published('models.list', modelsList),
];
