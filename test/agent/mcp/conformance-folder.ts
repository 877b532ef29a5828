/** A configuration file in a new folder, outside of a test. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function scratchFolderOf(config: object): { readonly data: string; readonly file: string } {
  const data = mkdtempSync(join(tmpdir(), 'troupe-conformance-'));
  const file = join(data, 'troupe.json5');
  writeFileSync(file, JSON.stringify(config));
  return { data, file };
}
