/**
 * The clock of a worker that a scenario can set: libfaketime reads it from a file of the machine.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
  .map((machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`)
  .concat('/usr/local/lib/faketime/libfaketimeMT.so.1');

const library = (): string | undefined => LIBRARIES.find((path) => existsSync(path));

/** Why clocks cannot be set here; undefined when they can. */
export const noClocks = (): string | undefined =>
  library() ? undefined : 'there is no libfaketime: apt-get install libfaketime';

/** Environment of a worker whose clock `setClock` sets. */
export function clockEnvironment(folder: string, machine: string): Record<string, string> {
  setClock(folder, machine, 0);
  return {
    LD_PRELOAD: library()!,
    FAKETIME_TIMESTAMP_FILE: clockFile(folder, machine),
    // seconds between two readings of the file
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  };
}

const clockFile = (folder: string, machine: string): string => join(folder, `${machine}.clock`);

/** @param aheadSec of the right time */
export function setClock(folder: string, machine: string, aheadSec: number): void {
  writeFileSync(clockFile(folder, machine), `${aheadSec < 0 ? '' : '+'}${aheadSec}\n`);
}
