/**
 * A command of an agent that waits for an approval: its agent, its text, where it would run, and
 * the possible decisions. Each decision has a key while the card has the focus.
 */
import { useEffect, useState } from 'preact/hooks';
import { shortKey } from './agents-talk.ts';
import type { Approval } from './conversation.ts';
import { strings } from '../strings.ts';

const KEYS: Readonly<Record<string, string>> = {
  'allow-once': 'y',
  'allow-always': 'a',
  deny: 'n',
};
const PRIMARY = 'allow-once';
const ALWAYS = 'allow-always';
const DECISIONS = ['allow-once', 'allow-always', 'deny'];

export const ApprovalCard = (props: {
  approval: Approval;
  online: boolean;
  onDecide: (decision: string) => void;
}) => {
  const { approval, online, onDecide } = props;
  const { command, detail = '', allowedDecisions = DECISIONS } = approval.request;
  const [decided, setDecided] = useState(false);
  const mayDecide = online && !decided;
  const decide = (decision: string) => {
    setDecided(true);
    onDecide(decision);
  };
  const onKeyDown = ({ key, altKey, ctrlKey, metaKey }: KeyboardEvent) => {
    const decision = allowedDecisions.find((each) => KEYS[each] === key.toLowerCase());
    if (decision && mayDecide && !altKey && !ctrlKey && !metaKey) decide(decision);
  };
  return (
    <li class="approval" aria-label={strings.mayItRun} tabIndex={-1} onKeyDown={onKeyDown}>
      <p role="alert">
        {strings.mayItRun} <Where approval={approval} />
      </p>
      <pre tabIndex={0}>{command}</pre>
      {detail !== '' && !detail.startsWith(`In the workspace: ${command}\n`) && (
        <p class="detail">{detail}</p>
      )}
      <div>
        {allowedDecisions.map((decision) => (
          <button
            key={decision}
            type="button"
            class={decision === PRIMARY ? 'primary' : decision === 'deny' ? 'danger' : ''}
            disabled={!mayDecide}
            aria-keyshortcuts={KEYS[decision]}
            onClick={() => decide(decision)}
          >
            {strings.decisions[decision] ?? decision}
          </button>
        ))}
        <TimeLeft to={approval.expiresAtMs} />
      </div>
      {allowedDecisions.includes(ALWAYS) && (
        <p class="muted">{strings.alwaysAllows(approval.request.agentId ?? strings.agent)}</p>
      )}
    </li>
  );
};

const Where = ({ approval: { request } }: { approval: Approval }) => {
  const { agentId, sessionKey, host, nodeId, cwd } = request;
  const who = agentId ?? (sessionKey ? shortKey(sessionKey) : undefined);
  const where = nodeId ? `${host ?? 'node'} ${nodeId.slice(0, 12)}` : host;
  return (
    <small>
      {who && strings.asksWho(who)} {where && strings.asksWhere(where)}
      {cwd && ` · ${cwd}`}
    </small>
  );
};

/** Shown during the last five minutes, in minutes. */
const SOON_MS = 300_000;

const TimeLeft = ({ to }: { to: number | undefined }) => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  if (to === undefined || to <= now || to - now > SOON_MS) return null;
  return <small class="muted">{strings.minutesLeft(Math.ceil((to - now) / 60_000))}</small>;
};
