/** The providers on which the contracts of workspaces run. */
import type { Address } from '../../../protocols/address.ts';
import type { WorkspaceLimits, Workspaces } from '../../../runtime/workspaces/workspaces.ts';

export type WorkspacesUnderTest = {
  /** One more worker of the same cell, in this process. */
  worker(limits?: Partial<WorkspaceLimits>): Workspaces;
  /** Makes the storage unreachable until the returned function is called. */
  takeAway(): Promise<() => Promise<void>>;
  dispose(): Promise<void>;
};

export const patient = { signal: new AbortController().signal };

/** Opens, works, saves, closes. */
export async function change(
  workspaces: Workspaces,
  actor: Address,
  work: (path: string) => Promise<void>,
): Promise<number> {
  const workspace = await workspaces.open(actor, patient);
  await work(workspace.path);
  await workspace.save();
  await workspace.close();
  return workspace.version;
}
