/**
 * The hook `routeMessage`: it may choose another agent for a message than the table of the
 * configuration did. A hook that fails or is late chooses nothing (create-hooks.ts).
 */
import type { AccountRef, InboundMessage, Route } from '../../protocols/channel.ts';
import { formatSessionKey, parseSessionKey } from '../../protocols/session-key.ts';
import type { Hooks } from './hooks.ts';

export type MessageToRoute = AccountRef & {
  readonly tenant: string;
  readonly message: InboundMessage;
  /** by the table */
  readonly route: Route;
};

/**
 * The route to the agent that the hook chose, else `route`. If the hook chose an agent that does
 * not exist, the rule says so. Never throws because of a hook.
 */
export async function routeByHook(
  hooks: Hooks,
  { tenant, channel, account, message, route }: MessageToRoute,
  isAgent: (agentId: string) => Promise<boolean>,
): Promise<Route> {
  if (!hooks.has('routeMessage')) return route;
  const { agentId, sessionKey } = route;
  const event = { message, channel, account, sender: message.sender };
  const chosen = await hooks.run('routeMessage', event, { tenant, agentId, sessionKey });
  if (chosen === undefined) return route;
  if (await isAgent(chosen.agent)) return withAgent(route, chosen.agent);
  const fault = `the hook chose ${JSON.stringify(chosen.agent)}, which is no agent`;
  return { ...route, rule: `${route.rule} (${fault})` };
}

/** The same conversation with another agent. Keys of the table always name an agent. */
const withAgent = (route: Route, agentId: string): Route => {
  const parts = parseSessionKey(route.sessionKey);
  if (parts.type === 'other') return route;
  return { agentId, sessionKey: formatSessionKey({ ...parts, agentId }), rule: 'hook' };
};
