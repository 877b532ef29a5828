/** The statechart of the open conversation, beside it. Whether it is shown is kept. */
import { useState } from 'preact/hooks';
import type { SessionChartProps } from '../actors/session-chart.tsx';
import { kept } from '../kept.ts';
import { strings } from '../strings.ts';
import type { Workspace } from '../workspace.ts';
import { lazy } from './lazy.tsx';

const SessionChart = lazy<SessionChartProps>(
  async () => (await import('../actors/session-chart.tsx')).SessionChart,
);

const NAME = 'troupe.chart';

export const SessionPane = (props: { workspace: Workspace; sessionKey: string }) => {
  const { workspace, sessionKey } = props;
  const [isOpen, setOpen] = useState(kept.getItem(NAME) === 'open');
  const toggle = () => {
    kept.setItem(NAME, isOpen ? 'closed' : 'open');
    setOpen(!isOpen);
  };
  return (
    <aside class={isOpen ? 'session-pane open' : 'session-pane'} aria-label={strings.statechart}>
      <button type="button" class="quiet" aria-expanded={isOpen} onClick={toggle}>
        {isOpen ? strings.hideStatechart : strings.statechart}
      </button>
      {isOpen && <SessionChart gateway={workspace} sessionKey={sessionKey} />}
    </aside>
  );
};
