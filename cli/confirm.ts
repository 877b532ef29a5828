/** The question that a command asks before a change that cannot be undone, or that grants much. */
import { createInterface } from 'node:readline/promises';
import { TroupeError } from '../protocols/errors.ts';

/** @throws TroupeError INVALID_ARGUMENT when it is not confirmed */
export async function confirm(
  question: string,
  { yes = false, json = false }: { readonly yes?: boolean; readonly json?: boolean },
): Promise<void> {
  if (yes) return;
  if (json || !process.stdin.isTTY)
    throw new TroupeError('INVALID_ARGUMENT', 'there is no terminal to ask: use --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`${question} (y/N) `);
    if (/^y(es)?$/i.test(answer.trim())) return;
    throw new TroupeError('INVALID_ARGUMENT', 'nothing was changed');
  } finally {
    terminal.close();
  }
}
