/**
 * Agents of a simulated run: the shipped actors of agents, sessions and approvals, with scripts in
 * place of models, tools of the test, and people who decide approvals late or never.
 *
 * Boundary: agents have no files, no memory and no channels, because these are outside of the
 * simulated process.
 */
import { rootAddress, shippedActors } from '../../actors/index.ts';
import { createHooks } from '../../agent/hooks/create-hooks.ts';
import { createModelCatalog } from '../../agent/models/catalog.ts';
import type { ModelDone, ModelProvider, ModelRequest } from '../../agent/models/model.ts';
import type { AgentServices } from '../../agent/services.ts';
import { NO_SECRETS } from '../../agent/tools/secret-mask.ts';
import { createToolRegistry } from '../../agent/tools/registry.ts';
import type { TalkRules } from '../../agent/policy/talk.ts';
import type { Tool } from '../../agent/tools/tool.ts';
import { talkRulesOf } from '../../installation/talk-rules.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import type { System } from '../../runtime/system.ts';
import type { ScriptedRequest, SimulatedAgents } from './agents.ts';
import type { AgentParts, RunPort } from './run-parts.ts';
import type { SimulatedWorld } from './world.ts';

const SETTINGS = { timeoutMs: 600_000, runsMax: 0, tokensPerDay: 0 };
const APPROVE = { decision: 'allow-once', afterMs: 60_000 };
const MODEL = 'scripted';
const USAGE = { inputTokens: 100, outputTokens: 10 };

type Shared = { readonly actors: readonly ActorDefinition[]; readonly talk: TalkRules };
let made: Shared | undefined;
/** What all runs share, because it takes long to make. */
function shared(): Shared {
  if (made) return made;
  const { config } = loadConfig({ env: {}, settings: {}, flags: { data: '/nowhere' } });
  return (made = { actors: shippedActors(), talk: talkRulesOf(config) });
}

export function agentParts(agents: SimulatedAgents, run: RunPort): AgentParts {
  const { world } = run;
  const given = typeof agents.tools === 'function' ? agents.tools(world) : (agents.tools ?? []);
  const services: AgentServices = {
    catalog: createModelCatalog(
      { providers: {} },
      { clock: run.clock, plugins: [scripted(agents, run)] },
    ),
    tools: createToolRegistry(given.map((tool) => ofProcess(tool, run))),
    hooks: createHooks(),
    secrets: NO_SECRETS,
    talk: shared().talk,
    ask: async (to, event, options = {}) => {
      const principal = { sub: 'agents', roles: [] };
      while (!run.system) await run.clock.sleep(100);
      return run.system.ask(to, event, {
        principal,
        timeoutMs: 30_000,
        continues: true,
        ...options,
      });
    },
  };
  const settings = (agents.agents ?? ['main']).map((agent) => ({
    ...SETTINGS,
    model: `${MODEL}/${MODEL}`,
    ...(typeof agent === 'string' ? { agentId: agent } : agent),
  }));
  const start = async (system: System) => {
    const options = { principal: SYSTEM_PRINCIPAL, timeoutMs: 30_000 };
    const event = { type: 'root.start', agents: settings };
    await system.ask(rootAddress(DEFAULT_TENANT), event, options);
  };
  return {
    actors: shared().actors,
    supervisor: rootAddress(DEFAULT_TENANT),
    services,
    start,
    look: deciding(agents, world),
  };
}

/** People decide each question once. */
function deciding({ approve = () => APPROVE }: SimulatedAgents, world: SimulatedWorld): () => void {
  const seen = new Set<string>();
  return () => {
    for (const approval of world.actors('approval')) {
      if (approval.value !== 'asked' || seen.has(approval.address)) continue;
      seen.add(approval.address);
      const answer = approve(approval, world);
      if (!answer) continue;
      const { decision, afterMs } = answer;
      world.send({
        at: afterMs,
        to: approval.address,
        event: { type: 'approval.answer', decision, why: 'simulated' },
        key: `answer to ${approval.address}`,
        principal: { sub: 'person', roles: ['operator'] },
      });
    }
  };
}

/** The tool as a process uses it: a dead process calls it no more and receives no result. */
function ofProcess(tool: Tool, run: RunPort): Tool {
  return {
    ...tool,
    run: async (args, context) => {
      const { process } = run;
      const result = await tool.run(args, context);
      return new Promise((resolve) => process.enter(() => resolve(result)));
    },
  };
}

function scripted({ model }: SimulatedAgents, run: RunPort): ModelProvider {
  return {
    id: MODEL,
    models: [{ id: MODEL, contextWindow: 1_000_000, maxTokens: 100_000 }],
    async *stream(request) {
      const { process } = run;
      const answer = await model(asked(request), run.world);
      if (answer.afterMs) await run.clock.sleep(answer.afterMs);
      await new Promise<void>((resolve) => process.enter(resolve));
      const { text = '' } = answer;
      const calls = (answer.calls ?? []).map(({ name, args }, n) => {
        const id = `call_${request.messages.length}_${n}`;
        return { id, name, args };
      });
      if (text !== '') yield { kind: 'text', delta: text };
      const stop = calls.length > 0 ? 'tools' : 'end';
      const done: ModelDone = { kind: 'done', text, calls, stop, usage: USAGE };
      yield done;
    },
  };
}

function asked(request: ModelRequest): ScriptedRequest {
  const { messages } = request;
  const from = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(from + 1);
  const results = since.flatMap((message) => (message.role === 'tool' ? [message.result] : []));
  const said = messages[from];
  const last = results.length > 0 ? results.join('\n') : said?.role === 'user' ? said.text : '';
  const called = since.flatMap((message) => (message.role === 'tool' ? [message.name] : []));
  return { ...request, last, called };
}
