/** Origins of messages and subagents, as `chat.history` returns them. */

/** The sender of a message that no user wrote. */
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

/** The state that a card shows. */
export const stateOf = ({ status }: Subagent): 'running' | 'done' | 'failed' =>
  status === 'completed'
    ? 'done'
    : ['reserved', 'starting', 'running'].includes(status)
      ? 'running'
      : 'failed';

/**
 * Subagents under the last item of the run that started them, oldest first. Subagents of runs that
 * are not in the loaded history are under `undefined` while they are active.
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

/** Ids of answers that tell another agent that there is no answer; they are not shown. */
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

/** `agent:work:main` becomes `work:main`; a subagent's uuid is cut to eight characters. */
export const shortKey = (sessionKey: string): string =>
  sessionKey.replace(/^agent:/, '').replace(/(:subagent:[0-9a-f]{8})-[0-9a-f-]+$/, '$1');

/** Opens a conversation in this page. */
export const linkTo = (sessionKey: string): string => `#session=${encodeURIComponent(sessionKey)}`;
