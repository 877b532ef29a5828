/** How tools send messages to actors. */
import type { System } from '../runtime/index.ts';
import type { AgentServices } from './services.ts';

/** Default time that a tool waits for an actor's reply. */
const ASK_MS = 30_000;
const AGENTS = { sub: 'agents', roles: [] };

/**
 * Waits until the system is open, because interrupted runs resume while the system is still
 * opening.
 */
export const lateAsk =
  (system: () => Promise<Pick<System, 'ask'>>): AgentServices['ask'] =>
  async (to, event, options = {}) =>
    (await system()).ask(to, event, {
      principal: AGENTS,
      timeoutMs: ASK_MS,
      continues: true,
      ...options,
    });
