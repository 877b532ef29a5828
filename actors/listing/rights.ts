/**
 * Which agent may serve an action: its name, with all its MAJOR versions, belongs to the agent that
 * offered it first, so that no other agent takes over an action and receives its payloads. Agents
 * of this code always own theirs. An external agent serves the action of another only if the same
 * principal registered both, or an operator approved it by registering it with that action.
 *
 * Boundary: rows only, so that entry points and tasks see the same owner, also of two concurrent
 * registrations: the earlier one has the name. Pure.
 */
import type { AgentRow } from '../../protocols/action.ts';

/** The reason why an agent may serve an action, or may not. */
export type Rights = {
  /** undefined: no agent offers it */
  owner(action: string): AgentRow | undefined;
  mayServe(row: AgentRow, action: string): boolean;
};

/** @param ownNames actions of this code, also where its agents have no row yet */
export function rightsAmong(
  rows: readonly AgentRow[],
  ownNames: ReadonlySet<string> = new Set(),
): Rights {
  const owners = new Map<string, AgentRow>();
  for (const row of rows) {
    for (const { action } of row.actions) {
      const owner = owners.get(action);
      if (!owner || isBefore(row, owner, action)) owners.set(action, row);
    }
  }
  return {
    owner: (action) => owners.get(action),
    mayServe(row, action) {
      if (row.url === undefined || row.claims?.approved.includes(action)) return true;
      const owner = owners.get(action);
      if (!owner || owner.url === undefined || ownNames.has(action)) return false;
      return owner.agent_id === row.agent_id || owner.claims?.owner === row.claims?.owner;
    },
  };
}

function isBefore(a: AgentRow, b: AgentRow, action: string): boolean {
  if (a.url === undefined || b.url === undefined) return b.url !== undefined;
  const [first, second] = [sinceOf(a, action), sinceOf(b, action)];
  return first === second ? a.agent_id < b.agent_id : first < second;
}

const sinceOf = ({ claims, registered_at }: AgentRow, action: string): string =>
  claims?.since[action] ?? registered_at;
