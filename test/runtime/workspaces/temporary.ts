/** A new folder for one test. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../../runtime/workspaces/checkout.ts';

export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'troupe-workspace-'));

export const removeFolder = (path: string): Promise<void> => removeTree(path);
