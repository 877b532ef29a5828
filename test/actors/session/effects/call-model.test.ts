/** The first model call of a run: the prompt and the request in one effect. */
import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { HookModule } from '../../../../agent/hooks/define-hooks.ts';
import { callModel } from '../../../../actors/session/effects/call-model.ts';
import { LEASE_REVOKED } from '../../../../actors/session/effect-types.ts';
import type { CallModelInput } from '../../../../actors/session/types.ts';
import type { ModelSettings } from '../../../../agent/models/catalog.ts';
import { startOpenAiServer } from '../../../servers/openai-server.ts';
import type { Plan } from '../../../servers/scripted-server.ts';
import { AGENT, session, stage } from './stage.ts';

const later: CallModelInput = { ...session, from: 1, entries: 1, isCompacted: false, call: 0 };
const first = { ...later, assemble: { sessionId: 's', text: 'hello', isFirst: true } };

/** One call of a model whose server acts by this plan, with a hook that changes the prompt. */
async function called(plan: Plan, given: CallModelInput = first, agentRow = {}) {
  const seen: string[] = [];
  const hooks: HookModule = {
    name: 'changes',
    hooks: {
      session_start: () => void seen.push('session_start'),
      before_agent_start: ({ prompt }) => {
        seen.push(prompt);
        return { system: 'You are a parrot.', prependContext: 'It rains.' };
      },
    },
  };
  const server = await startOpenAiServer();
  server.script(plan);
  const models: ModelSettings = {
    providers: {
      served: {
        api: 'openai-completions',
        baseUrl: server.baseUrl,
        apiKey: 'key',
        models: [{ id: 'm' }],
      },
    },
  };
  const entries = [{ type: 'user' as const, runId: 'r', text: 'hello', at: 0 }];
  const on = await stage({ hooks, models, entries, agentRow });
  try {
    const input = { ...given, model: 'served/m' };
    const output = await on.run((context) => callModel.run(input, context), 'e', 'discard');
    return { output, seen, requests: server.requests };
  } finally {
    await rm(on.folder, { recursive: true, force: true });
    await server.close();
  }
}
const answer: Plan = { kind: 'answer', deltas: ['so it is'] };

describe('the first model call of a run', () => {
  it('sends the prompt that hooks have changed, and reports it with the answer', async () => {
    const { output, seen, requests } = await called(answer);
    expect(seen).toEqual(['session_start', 'hello']);
    expect(requests[0]!.body['messages']).toMatchObject([
      { role: 'system', content: 'You are a parrot.' },
      { role: 'user', content: 'It rains.\n\nhello' },
    ]);
    expect(output).toMatchObject({
      text: 'so it is',
      assembled: { prompt: { system: 'You are a parrot.' }, prepend: 'It rains.' },
    });
  });

  it('reports the prompt with its failure, so that it is not built again', async () => {
    const { output } = await called({ kind: 'refuse', status: 401 });
    expect(output).toMatchObject({
      failure: { code: 'UNAUTHORIZED' },
      assembled: { prompt: { system: 'You are a parrot.' } },
    });
  });

  it('begins only if the row of its agent shows the standing lease that it begins under', async () => {
    const standing = { agent: AGENT, id: 'l1' };
    const given = { ...first, assemble: { ...first.assemble, standing } };
    for (const agentRow of [{}, { standing: 'l2' }, { status: 'paused' }])
      await expect(called(answer, given, agentRow)).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { reason: LEASE_REVOKED },
      });
    const { output } = await called(answer, given, { standing: 'l1' });
    expect(output).toMatchObject({ text: 'so it is' });
  });

  it('builds nothing in a later call', async () => {
    const { output, seen } = await called(answer, later);
    expect(seen).toEqual([]);
    expect(output).not.toHaveProperty('assembled');
  });
});
