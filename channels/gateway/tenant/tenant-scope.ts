/** The smallest parameter objects that functions over one tenant share. */
import type { System } from '../../../runtime/index.ts';
import type { AgentNames } from '../../../operations/sessions/session-key.ts';

/** Access to the actors, rows, transcripts and events of one tenant. */
export type TenantScope = { readonly system: System; readonly tenant: string };

/** Adds the agents of the tenant, which complete the short session keys of clients. */
export type SessionScope = TenantScope & { readonly names: AgentNames };
