/**
 * The agent and session of a message that a channel admitted: the `routeMessage` hook chooses, else
 * the table of the configuration. A hook that fails, is late or names an unknown agent is reported,
 * and the table decides.
 */
import type { Hooks } from '../agent/hooks/hooks.ts';
import type { AccountRef, InboundMessage, Route } from '../protocols/channel.ts';
import { type Config, routeByHook, routeByTable } from '../runtime/config/index.ts';

export type RouteOptions = {
  readonly tenant: string;
  /** as the tenant has it */
  readonly config: Config;
  readonly hooks: Hooks;
  /** receives a text for operators */
  readonly onFault: (fault: string) => void;
};

/** Never throws because of a hook. */
export async function routeMessage(
  { tenant, config, hooks, onFault }: RouteOptions,
  of: AccountRef,
  message: InboundMessage,
): Promise<Route> {
  const table = routeByTable(config, of, message);
  if (!hooks.has('routeMessage')) return table;
  const { agentId, sessionKey } = table;
  const event = { ...of, message, sender: message.sender };
  const chosen = await hooks.run('routeMessage', event, { tenant, agentId, sessionKey });
  if (chosen === undefined) return table;
  const route = routeByHook(config, of, message, chosen.agent);
  if (route === undefined)
    onFault(`the hook routeMessage chose ${JSON.stringify(chosen.agent)}, which is no agent`);
  return route ?? table;
}
