/** The views of operations: a second entry of the page, loaded when the first view is opened. */
import { ListView } from './list-view.tsx';
import { lazy } from '../shell/lazy.tsx';
import { linkToView } from '../routes.ts';
import type { ActorsViewProps } from '../actors/actors-view.tsx';
import type { ViewProps } from './view-props.ts';
import { agents } from './views/agents.tsx';
import { approvals } from './views/approvals.tsx';
import { audit } from './views/audit.tsx';
import { calls } from './views/calls.tsx';
import { channels } from './views/channels.tsx';
import { Cluster } from './views/cluster.tsx';
import { deadLetters } from './views/dead-letters.tsx';
import { Devices } from './views/devices.tsx';
import { Memory } from './views/memory.tsx';
import { Runs } from './views/runs.tsx';
import { schedules } from './views/schedules.tsx';
import { Settings } from './views/settings.tsx';
import { tasks } from './views/tasks.tsx';
import { Usage } from './views/usage.tsx';

/** Charts are large: they are loaded when the actors are opened. */
const Actors = lazy<ActorsViewProps>(
  async () => (await import('../actors/actors-view.tsx')).ActorsView,
);

export const Views = (props: ViewProps) => {
  switch (props.route.view) {
    case 'approvals':
      return <ListView key="approvals" {...props} definition={approvals} />;
    case 'calls':
      return <ListView key="calls" {...props} definition={calls} />;
    case 'channels':
      return <ListView key="channels" {...props} definition={channels} />;
    case 'dead-letters':
      return <ListView key="dead-letters" {...props} definition={deadLetters} />;
    case 'schedules':
      return <ListView key="schedules" {...props} definition={schedules} />;
    case 'tasks':
      return <ListView key="tasks" {...props} definition={tasks} />;
    case 'agents':
      return <ListView key="agents" {...props} definition={agents} />;
    case 'audit':
      return <ListView key="audit" {...props} definition={audit} />;
    case 'actors':
      return (
        <Actors
          gateway={props.workspace}
          params={props.route.params}
          onParams={(params, replace) => props.go(linkToView('actors', params), replace)}
        />
      );
    case 'runs':
      return <Runs {...props} />;
    case 'devices':
      return <Devices {...props} />;
    case 'usage':
      return <Usage {...props} />;
    case 'memory':
      return <Memory {...props} />;
    case 'cluster':
      return <Cluster {...props} />;
    case 'settings':
      return <Settings {...props} />;
    default:
      return null;
  }
};
