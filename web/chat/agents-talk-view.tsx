/** Subagents as cards, and folded messages between agents, which are not addressed to the user. */
import { linkTo, type Origin, shortKey, stateOf, type Subagent } from './agents-talk.ts';
import { strings } from '../strings.ts';
import { related } from './related-strings.ts';

/** Status, task, findings, time and tokens of a subagent, with a link to its conversation. */
export const SubagentCard = ({ subagent }: { subagent: Subagent }) => {
  const { status, task, label, reason, findings, tokens, startedAt, endedAt } = subagent;
  const seconds =
    startedAt === undefined || endedAt === undefined ? undefined : (endedAt - startedAt) / 1_000;
  const name = label ?? shortKey(subagent.sessionKey);
  return (
    <li class={`subagent ${stateOf(subagent)}`} aria-label={related.subagent(name)}>
      <p>
        <strong>{related.subagent(name)}</strong>
        <span>{related.subagentStatus[status] ?? status}</span>
        {seconds !== undefined && <span>{strings.seconds(seconds)}</span>}
        {tokens !== undefined && <span>{related.tokens(tokens)}</span>}
        {status !== 'refused' && <a href={linkTo(subagent.sessionKey)}>{related.openSubagent}</a>}
      </p>
      <p class="task">{task}</p>
      {reason !== undefined && <p class="reason">{reason}</p>}
      {findings !== undefined && findings !== '' && (
        <details>
          <summary>{related.findings}</summary>
          <pre tabIndex={0}>{findings}</pre>
        </details>
      )}
    </li>
  );
};

export const AgentMessage = ({ origin, text }: { origin: Origin; text: string }) => {
  const { kind, sessionKey, ids } = origin;
  const title = related.saidByAgents[kind](shortKey(sessionKey), ids.length);
  return (
    <li class="from-agent">
      <details>
        <summary>{title}</summary>
        <pre tabIndex={0}>{text}</pre>
      </details>
    </li>
  );
};

/** On the page of a subagent: a link to the session that started it. */
export const ParentLink = ({ parent }: { parent: string }) => (
  <li class="note">
    <a href={linkTo(parent)}>{related.startedBy(shortKey(parent))}</a>
  </li>
);
