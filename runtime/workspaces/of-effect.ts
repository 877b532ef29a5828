/**
 * WorkspacesOfEffect: the workspaces that one attempt of an effect has opened. When the attempt
 * succeeds, all of them are saved and closed. Otherwise they are closed without saving, so that a
 * failed attempt leaves no partial work (if the provider supports it, see its contract).
 */
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Workspace, Workspaces } from './workspaces.ts';

export class WorkspacesOfEffect {
  readonly #provider: Workspaces | undefined;
  readonly #signal: AbortSignal;
  readonly #opened = new Map<Address, Promise<Workspace>>();
  #ended = false;

  constructor(provider: Workspaces | undefined, signal: AbortSignal) {
    this.#provider = provider;
    this.#signal = signal;
  }

  /**
   * Returns the same workspace when the attempt opens it again, and a new one after the attempt has
   * closed it.
   */
  open(actor: Address): Promise<Workspace> {
    if (!this.#provider) return Promise.reject(noProvider());
    if (this.#ended) return Promise.reject(new TroupeError('CANCELLED', 'the effect has ended'));
    const known = this.#opened.get(actor);
    if (known) return known;
    const forget = () => void this.#opened.delete(actor);
    const opening = this.#provider
      .open(actor, { signal: this.#signal })
      .then((workspace) => notifyingWhenClosed(workspace, forget));
    this.#opened.set(actor, opening);
    opening.catch(forget);
    return opening;
  }

  /** Ends it if no workspace was opened, as of most effects; returns whether it did. */
  endUnused(): boolean {
    if (this.#opened.size > 0) return false;
    this.#ended = true;
    return true;
  }

  /** @throws TroupeError as `Workspace.save` does; then nothing is closed yet: `abandon` does it */
  async save(): Promise<void> {
    this.#ended = true;
    for (const opening of this.#opened.values()) await (await opening).save();
    await this.close();
  }

  /** Closes all of them, including those that are still being opened. May be repeated. */
  close(): Promise<void> {
    return this.#close(false);
  }

  /** Like `close`, for an attempt whose work may still run. */
  abandon(): Promise<void> {
    return this.#close(true);
  }

  async #close(abandoned: boolean): Promise<void> {
    this.#ended = true;
    const closings = [...this.#opened.values()].map(async (opening) => {
      const workspace = await opening.catch(() => undefined);
      await workspace?.close({ abandoned });
    });
    await Promise.all(closings);
  }
}

const notifyingWhenClosed = (workspace: Workspace, onClose: () => void): Workspace => ({
  path: workspace.path,
  get version() {
    return workspace.version;
  },
  save: () => workspace.save(),
  close(options) {
    onClose();
    return workspace.close(options);
  },
});

const noProvider = (): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    'this worker has no workspaces: set runtime.workspaces.provider to folder or synced in the configuration',
  );
