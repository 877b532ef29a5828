/** A separate data folder for one test, removed after it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  ConfigError,
  type LoadInput,
  type Problem,
  loadConfig,
} from '../../../runtime/config/index.ts';

export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function write(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Loads one text as the file `troupe.json5` of an otherwise empty user. */
export function load(text: string, input: Partial<LoadInput> = {}) {
  const home = scratchFolder();
  const file = write(home, 'troupe.json5', text);
  return { home, file, ...loadConfig({ env: {}, home, file, ...input }) };
}

/** The problems of a text, the file's folder cut from their places. */
export function problemsOf(text: string, input: Partial<LoadInput> = {}): Problem[] {
  const home = scratchFolder();
  const file = write(home, 'troupe.json5', text);
  try {
    loadConfig({ env: {}, home, file, ...input });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => ({
      ...problem,
      ...(problem.where && { where: problem.where.replace(`${home}/`, '') }),
    }));
  }
  return [];
}
