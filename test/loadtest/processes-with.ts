/** Finds processes that a test left behind. */
import { readdirSync, readFileSync } from 'node:fs';

/** Processes of this machine whose command line contains the text. */
export const processesWith = (text: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
