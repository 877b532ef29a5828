/**
 * pinnedWorkspaces: an actor's workspace is a folder on the workers with the labels that the
 * configuration requires for it; its effects run there (effects/dispatch.ts).
 *
 * One set of labels names one volume for the life of the cell: a local disk of one machine, or a
 * volume that several workers mount. The first opening gives the volume an id and binds the labels
 * to it in the cell's blobs. A worker whose volume has another id, or none, answers UNAVAILABLE; it
 * never opens an empty folder in place of the files.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { writeFileDurably } from '../blobs/durable-file.ts';
import { type Labels, labelsText, meets } from '../labels.ts';
import { type FolderWorkspacesOptions, folderWorkspaces } from './folder.ts';
import { blobToken, reaching } from './name.ts';
import { isAbsent } from './peek.ts';
import type { WorkspaceLimits, Workspaces } from './workspaces.ts';

const VOLUME_FILE = 'troupe-volume-id';

export type PinnedWorkspacesOptions = {
  readonly root: string;
  readonly cell: string;
  readonly blobs: Blobs;
  /** the only tenant whose workspaces are here; default all */
  readonly tenant?: string;
  /** labels of this process */
  readonly labels: Labels;
  /** required labels of the workers that have the actor's workspace */
  readonly labelsOf: (actor: Address) => Labels;
  /** as in folderWorkspaces */
  readonly filesOf?: FolderWorkspacesOptions['filesOf'];
  readonly limits?: Partial<WorkspaceLimits>;
};

export function pinnedWorkspaces(options: PinnedWorkspacesOptions): Workspaces {
  const { labelsOf, cell, limits = {}, filesOf = () => undefined } = options;
  const root = resolve(options.root);
  const folder = folderWorkspaces({ root, cell, limits, filesOf, create: true });
  const reach = async (actor: Address): Promise<void> => {
    const required = labelsOf(actor);
    if (Object.keys(required).length === 0)
      throw new TroupeError(
        'UNAVAILABLE',
        `no labels say where the workspace of ${actor} is: set runtime.workspaces.labels`,
      );
    if (!meets(options.labels, required))
      throw new TroupeError(
        'UNAVAILABLE',
        `the workspace of ${actor} is on workers with the labels ${labelsText(required)}, which this worker lacks`,
      );
    await reaching(`the workspaces in ${root}`, () => checkVolume({ ...options, root }, required));
  };
  return {
    labelsOf,
    async open(actor, how) {
      await reach(actor);
      return folder.open(actor, how);
    },
    async peek(actor, paths, before) {
      await reach(actor);
      return folder.peek(actor, paths, before);
    },
    async list(actor, below) {
      await reach(actor);
      return folder.list(actor, below);
    },
  };
}

/** @throws TroupeError UNAVAILABLE when this volume is not the one that the labels are bound to */
async function checkVolume(
  { root, cell, blobs, tenant = '' }: PinnedWorkspacesOptions,
  required: Labels,
): Promise<void> {
  const place = `${tenant} ${labelsText(sorted(required))}`;
  const name = `ws/${blobToken(cell)}/pin/${blobToken(place)}`;
  const bound = await blobs.get(name);
  const here = await readId(root);
  if (bound !== undefined) return same(Buffer.from(bound).toString('utf8'), here, root, required);
  const id = here ?? randomUUID();
  if (here === undefined) {
    await mkdir(root, { recursive: true, mode: 0o700 });
    await writeFileDurably(join(root, VOLUME_FILE), Buffer.from(id));
  }
  try {
    await blobs.put(name, Buffer.from(id));
  } catch (error) {
    if (!(error instanceof TroupeError && error.code === 'CONFLICT')) throw error;
    const winner = await blobs.get(name);
    same(winner && Buffer.from(winner).toString('utf8'), id, root, required);
  }
}

function same(
  bound: string | undefined,
  here: string | undefined,
  root: string,
  required: Labels,
): void {
  if (bound === here) return;
  throw new TroupeError(
    'UNAVAILABLE',
    `the labels ${labelsText(required)} belong to the volume ${bound}, and ${root} is ` +
      `${here === undefined ? 'an empty folder' : `the volume ${here}`}: mount that volume here, ` +
      'or give this worker other labels',
  );
}

const sorted = (labels: Labels): Labels =>
  Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));

async function readId(root: string): Promise<string | undefined> {
  try {
    return await readFile(join(root, VOLUME_FILE), 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
