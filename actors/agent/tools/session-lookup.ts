/**
 * Session lookup: which session a tool means by a key or a label. One place for all tools that name
 * the session of another.
 *
 * Boundary: reads committed rows, wakes nobody.
 *
 * Invariants:
 *  1. What may not be listed is not found by its label, whether it exists or not; by its key it is
 *     forbidden, whether it exists or not.
 *  2. No name of a session that may not be listed is in an answer.
 */
import type { SessionRow } from '../../../protocols/session.ts';
import type { Index } from '../../../runtime/index.ts';
import type { Talker, TalkRules } from '../policy/talk.ts';

/** A key, or a label with the agent to look at (default all); never both. */
export type SessionName = {
  readonly sessionKey?: string;
  readonly label?: string;
  readonly agentId?: string;
};

export type FoundSession =
  | { readonly status: 'found'; readonly row: SessionRow }
  /** by key: the session may not be seen; nothing is said about whether it exists */
  | { readonly status: 'forbidden'; readonly error: string; readonly rule: string }
  /** `agentId` is there when a key was given that may be seen: that agent has no such session */
  | { readonly status: 'not_found'; readonly error: string; readonly agentId?: string }
  /** several sessions carry the label, or several labels begin so; at most 10 are named */
  | {
      readonly status: 'ambiguous';
      readonly error: string;
      readonly candidates: readonly SessionCandidate[];
    }
  /** neither a key nor a label, or both */
  | { readonly status: 'invalid'; readonly error: string };
export type SessionCandidate = {
  readonly sessionKey: string;
  readonly label?: string;
};

/** The session of a key, or of a label: the exact one, else the only one that begins so. */
export async function findSession(
  index: Index,
  tenant: string,
  name: SessionName,
  who: Talker,
  rules: TalkRules,
): Promise<FoundSession> {
  void [index, tenant, name, who, rules];
  return { status: 'not_found', error: 'there is no such session' };
}
