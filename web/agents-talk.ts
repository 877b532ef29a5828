/** Agents among themselves, as `chat.history` tells of it: who wrote a message, and subagents. */

/** Who wrote a message, where that is no person. */
export type Origin = {
  readonly kind: 'agent' | 'announce' | 'task' | 'subagents';
  readonly sessionKey: string;
  readonly ids: readonly string[];
};

export type Subagent = {
  readonly id: string;
  /** of the run that started it */
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: string;
  readonly task: string;
  readonly label?: string;
  readonly reason?: string;
  readonly findings?: string;
  readonly tokens?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
};

/** The state of a card: what a reader wants to know at a glance. */
export const stateOf = ({ status }: Subagent): 'running' | 'done' | 'failed' =>
  status === 'completed'
    ? 'done'
    : ['reserved', 'starting', 'running'].includes(status)
      ? 'running'
      : 'failed';

/**
 * Subagents under the last item of the run that started each, oldest first; under `undefined` those
 * of runs that the history does not hold, as far as they go on.
 */
export const subagentsByItem = (
  subagents: readonly Subagent[],
  history: readonly { readonly id: string; readonly runId: string | undefined }[],
): ReadonlyMap<string | undefined, readonly Subagent[]> => {
  const last = new Map(history.map(({ id, runId }) => [runId, id]));
  const under = new Map<string | undefined, Subagent[]>();
  for (const subagent of subagents.toReversed()) {
    const item = last.get(subagent.runId);
    if (item === undefined && stateOf(subagent) !== 'running') continue;
    under.set(item, [...(under.get(item) ?? []), subagent]);
  }
  return under;
};

type Item = {
  readonly id: string;
  readonly runId: string | undefined;
  readonly role: string;
  readonly text: string;
  readonly origin?: Origin;
};

const DECLINES = ['REPLY_SKIP', 'ANNOUNCE_SKIP', 'NO_REPLY'];
const EDGES = /^[\s*_`"'(]+|[\s*_`"'.:,)-]+$/g;

/** Ids of answers that say, to another agent, that there is none: no words for people. */
export const declinesIn = (history: readonly Item[]): ReadonlySet<string> => {
  const ofAgents = new Set(
    history
      .filter(({ origin }) => origin?.kind === 'agent' || origin?.kind === 'announce')
      .map(({ runId }) => runId),
  );
  const declines = ({ role, runId, text }: Item): boolean =>
    role === 'assistant' && ofAgents.has(runId) && DECLINES.includes(text.replaceAll(EDGES, ''));
  return new Set(history.filter(declines).map(({ id }) => id));
};

/** `agent:work:main` is `work:main`; of a subagent's uuid eight characters. */
export const shortKey = (sessionKey: string): string =>
  sessionKey.replace(/^agent:/, '').replace(/(:subagent:[0-9a-f]{8})-[0-9a-f-]+$/, '$1');

/** Opens a conversation in this page. */
export const linkTo = (sessionKey: string): string => `#session=${encodeURIComponent(sessionKey)}`;
