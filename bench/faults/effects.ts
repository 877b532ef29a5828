/**
 * The external actions of effects in real processes. Every start is a line of a file that all
 * workers share; a written line survives any kill.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../../protocols/address.ts';
import type { Answer, World } from '../../test/sim/actors.ts';

/** One start of an effect. */
export type Began = { readonly intent: string; readonly attempt: number; readonly cls: string };

export const worldOf = (write: (line: string) => void): World => ({
  work: async (id, attempt, cls, { of, ms, fails }): Promise<Answer> => {
    const began: Began = { intent: id.slice(id.indexOf(':') + 1), attempt, cls };
    write(JSON.stringify(began));
    await sleep(ms);
    if (fails) throw new Error('failed on request');
    return { actor: id as Address, n: attempt, of };
  },
  // One third reports success, one third starts again, and one third only an operator can resolve.
  recall: (id) => {
    const fate = crc32(id) % 3;
    if (fate === 0) return 'again';
    return fate === 1 ? 'ask' : { outcome: { actor: id as Address, n: 0, of: id } };
  },
});

/** The file of a cell's folder with one line for each start. */
export const effectsFile = (folder: string): string => join(folder, 'effects');

/** All starts so far. */
export function effectsOf(folder: string): Began[] {
  const file = effectsFile(folder);
  if (!existsSync(file)) return [];
  // The last line of a killed worker may be incomplete.
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Began);
}
