/** Addresses of the actors that people and programs send messages to. */
import { type Address, address } from '../protocols/address.ts';

/** One conversation. `sessionKey` is canonical, as protocols/session-key.ts makes it. */
export const sessionAddress = (tenant: string, sessionKey: string): Address =>
  address(tenant, 'session', sessionKey);
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
