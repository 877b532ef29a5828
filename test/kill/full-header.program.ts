/**
 * Loaded into the program before everything else. SIGUSR2 makes the disk full for the header of the
 * store's data file. If there is a file `moves` in the store, the data file is moved there, too.
 */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fillHeader } from '../runtime/log/full-header.ts';

process.on('SIGUSR2', () => {
  const store = process.env['FULL_HEADER_OF']!;
  fillHeader(store);
  const moves = join(store, 'moves');
  if (existsSync(moves)) renameSync(join(store, 'data.mdb'), moves);
});
