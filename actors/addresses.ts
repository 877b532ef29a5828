/** Addresses of the actors that people and programs send messages to. */
import { type Address, address } from '../protocols/address.ts';

/**
 * The session actor of one conversation.
 *
 * @param sessionKey canonical, as `sessionKey` makes it
 * @example
 * ```ts
 * import { sessionAddress, sessionKey } from 'troupe/agents';
 *
 * const to = sessionAddress('default', sessionKey.main('helper'));
 * assert.equal(to, 'default/session/agent:helper:main');
 * ```
 */
export const sessionAddress = (tenant: string, sessionKey: string): Address =>
  address(tenant, 'session', sessionKey);
/**
 * The actor of a registered agent.
 *
 * @example
 * ```ts
 * import { agentAddress } from 'troupe/agents';
 *
 * assert.equal(agentAddress('default', 'helper'), 'default/agent/helper');
 * ```
 */
export const agentAddress = (tenant: string, agentId: string): Address =>
  address(tenant, 'agent', agentId);
/**
 * The supervisor of that name.
 *
 * @example
 * ```ts
 * import { supervisorAddress } from 'troupe';
 *
 * assert.equal(supervisorAddress('default', 'shop'), 'default/supervisor/shop');
 * ```
 */
export const supervisorAddress = (tenant: string, name: string): Address =>
  address(tenant, 'supervisor', name);
