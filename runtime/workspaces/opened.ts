/**
 * OpenedWorkspace: the life cycle of an open workspace, the same for every provider: one save at a
 * time.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { LeftOut, Workspace } from './workspaces.ts';

/** `version`: the current version of the folder */
export type Saved = { readonly version: number; readonly leftOut: readonly LeftOut[] };

type Means = {
  /** the version at the opening */
  readonly version: number;
  readonly save: (from: number) => Promise<Saved>;
  readonly close: (abandoned: boolean) => Promise<void>;
};

export class OpenedWorkspace implements Workspace {
  readonly path: string;
  readonly #means: Means;
  #version: number;
  #saving: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(path: string, means: Means) {
    this.path = path;
    this.#means = means;
    this.#version = means.version;
  }

  get version(): number {
    return this.#version;
  }

  save(): Promise<readonly LeftOut[]> {
    if (this.#closed)
      return Promise.reject(
        new TroupeError('INVALID_ARGUMENT', `the workspace ${this.path} is closed; open it again`),
      );
    const saving = this.#saving.then(async () => {
      const { version, leftOut } = await this.#means.save(this.#version);
      this.#version = version;
      return leftOut.map(({ path, reason }) => ({ path, reason }));
    });
    this.#saving = saving.catch(() => {});
    return saving;
  }

  close({ abandoned = false }: { readonly abandoned?: boolean } = {}): Promise<void> {
    this.#closed ??= this.#saving.then(() => this.#means.close(abandoned));
    return this.#closed;
  }
}
