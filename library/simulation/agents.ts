/** Agents of a simulation as a test describes them: scripts of models, tools, people. */
import { sessionAddress } from '../../actors/addresses.ts';
import type { ModelRequest } from '../../agent/models/model.ts';
import type { Tool } from '../../agent/tools/tool.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import type { SimulatedActor, SimulatedMessage, SimulatedWorld } from './world.ts';

/** What a scripted model answers; an error that the script throws is an error of the provider. */
export type ScriptedAnswer = {
  readonly text?: string;
  /** tools that it calls; `args` as JSON */
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  /** virtual milliseconds until it answers; default 0 */
  readonly afterMs?: number;
};

/** A request of an agent to its model. */
export type ScriptedRequest = ModelRequest & {
  /** the text of the last message of a user, or the results of the tools after it */
  readonly last: string;
  /** names of the tools that were called since the last message of a user, in order */
  readonly called: readonly string[];
};

export type SimulatedAgents = {
  /** ids, 1 to 64 of `a-z`, `0-9`, `_` and `-`, or settings; default `main` */
  readonly agents?: readonly (string | (Partial<AgentSettings> & { readonly agentId: string }))[];
  /** answers for the model of every agent; it must not wait for real time */
  readonly model: (
    request: ScriptedRequest,
    world: SimulatedWorld,
  ) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** the tools that the agents have, as for `startTroupe`; default none */
  readonly tools?: readonly Tool[] | ((world: SimulatedWorld) => readonly Tool[]);
  /**
   * decides a question that a tool or an agent asks: the name of an option (`allow-once`,
   * `deny`) and the virtual milliseconds until a person does it; undefined: it is not answered.
   * Default: `allow-once` after 60,000 ms
   */
  readonly approve?: (
    approval: SimulatedActor,
    world: SimulatedWorld,
  ) => { readonly decision: string; readonly afterMs: number } | undefined;
};

/**
 * A message of a person to an agent, for the `load` of a simulation.
 *
 * @param options the session is the agent's main one by default; `at` in virtual milliseconds,
 *   default 0
 * @example
 * ```ts
 * import { say } from 'troupe/test';
 *
 * const message = say('main', 'Pay bill 17', { at: 1_000 });
 * assert.equal(message.to, 'default/session/agent:main:main');
 * ```
 */
export function say(
  agentId: string,
  text: string,
  options: { readonly session?: string; readonly at?: number; readonly key?: string } = {},
): SimulatedMessage {
  const { session = sessionKey.main(agentId), at = 0, key = `${at} ${text}` } = options;
  const to = sessionAddress(DEFAULT_TENANT, session);
  const event = { type: 'session.receive', runId: `run ${key}`.slice(0, 60), text };
  const principal = { sub: 'person', roles: ['operator'] };
  return { at, to, event, key, principal };
}
