/** Places: the addresses and keys of a subagent, its session and its parent. */
import { address, type Address } from '../../protocols/address.ts';
import { sessionKey } from '../../protocols/session-key.ts';
import type { SubagentContext } from './types.ts';

/** Of its session. */
export const childKey = ({ id, reserved }: SubagentContext): string =>
  sessionKey.subagent(reserved!.terms.agentId, id);
export const childAddress = (context: SubagentContext): Address =>
  address(context.tenant, 'session', childKey(context));
export const parentAddress = ({ tenant, parent }: SubagentContext): Address | undefined =>
  parent === null ? undefined : address(tenant, 'session', parent);
