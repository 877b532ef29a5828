/**
 * Other systems that do the work which troupe's actors do, to be measured on the same machine. They
 * are not dependencies: each runs where its package is installed in a folder that the user names.
 *
 * The work: a durable ask of a counter. The request is stored before it is processed; the counter's
 * new value is stored; the answer contains it. There are 64 counters.
 *
 * What is equal for all: the client and the code of the counter run in one Node process, and the
 * server, if the system has one, is a process on the same machine, on loopback. What was
 * acknowledged survives `kill -9` of every process; none waits for the disk (`fsync`), so a power
 * failure can lose the last moments. Each driver says how this is configured.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';

/** A running system. */
export type Peer = {
  /** Adds 1 to the counter and resolves with its new value. @param counter from 0 to 63 */
  readonly add: (counter: number) => Promise<number>;
  /** process id of its server, if it has one */
  readonly server?: number;
  /** Ends its connections and its server. */
  readonly stop: () => Promise<void>;
};

export type PeerPlace = {
  /** with `node_modules` */
  readonly folder: string;
  /** an empty folder for its data, removed afterwards */
  readonly data: string;
};

export type PeerDriver = {
  readonly name: string;
  /** the packages of npm, and the program of its server */
  readonly needs: { readonly packages: readonly string[]; readonly program?: string };
  /** one sentence: what happens to an ask when a process is killed in the middle */
  readonly guarantee: string;
  /** @throws TroupeError NOT_FOUND when a package or a program is missing */
  readonly start: (place: PeerPlace) => Promise<Peer>;
};

export const COUNTERS = 64;

/** The module of a package in the folder. @throws TroupeError NOT_FOUND */
export function loaded<Module>(folder: string, name: string): Module {
  const require = createRequire(join(folder, 'package.json'));
  try {
    return require(name) as Module;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause;
    throw notInstalled(name, folder, cause);
  }
}

export const notInstalled = (name: string, folder: string, cause?: unknown): TroupeError =>
  new TroupeError(
    'NOT_FOUND',
    `${name} is not in ${folder}: npm install --prefix ${folder} ${name}`,
    cause === undefined ? {} : { cause },
  );
