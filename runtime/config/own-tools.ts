/**
 * Names of the tools that a program of a user adds with `startTroupe({ tools })`. The file
 * `own-tools.json` in the data folder keeps those of the program that ran last, so that commands
 * such as `troupe config check` accept them in lists of tools.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileIn = (home: string): string => join(home, 'own-tools.json');

/** Of the program that ran last with this data folder; empty without one. Never throws. */
export function readOwnTools(home: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(readFileSync(fileIn(home), 'utf8'));
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

/** Keeps the names for later commands. @throws an error of the file system */
export function noteOwnTools(home: string, names: readonly string[]): void {
  if (names.length === 0) rmSync(fileIn(home), { force: true });
  else writeFileSync(fileIn(home), `${JSON.stringify(names)}\n`);
}
