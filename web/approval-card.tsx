/**
 * A command of the agent that waits for a person: what it is, and the answers that may be given.
 */
import { useState } from 'preact/hooks';
import type { Approval } from './conversation.ts';
import { strings } from './strings.ts';

export const ApprovalCard = (props: {
  approval: Approval;
  online: boolean;
  onDecide: (decision: string) => void;
}) => {
  const { approval, online, onDecide } = props;
  const { command, detail, allowedDecisions } = approval.request;
  const [decided, setDecided] = useState(false);
  const decide = (decision: string) => {
    setDecided(true);
    onDecide(decision);
  };
  return (
    <li class="approval" role="group" aria-label={strings.mayItRun}>
      <p>{strings.mayItRun}</p>
      <pre tabIndex={0}>{command}</pre>
      {detail !== '' && <p class="detail">{detail}</p>}
      <div>
        {allowedDecisions.map((decision) => (
          <button
            key={decision}
            type="button"
            class={decision}
            disabled={!online || decided}
            onClick={() => decide(decision)}
          >
            {strings.decisions[decision] ?? decision}
          </button>
        ))}
      </div>
    </li>
  );
};
