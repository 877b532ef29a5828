/** What a view receives from the shell. */
import type { Route } from '../routes.ts';
import type { View, Workspace } from '../workspace.ts';

export type ViewProps = {
  readonly route: Route;
  readonly view: View;
  readonly workspace: Workspace;
  go(this: void, link: string, replace?: boolean): void;
};
