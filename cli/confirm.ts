/** The question that a command asks before a change that cannot be undone, or that grants much. */
import { createInterface } from 'node:readline/promises';
import { TroupeError } from '../protocols/errors.ts';
import { exitCodes } from './exit.ts';

/** @throws TroupeError INVALID_ARGUMENT when it is not confirmed */
export async function confirm(
  question: string,
  { yes = false, json = false }: { readonly yes?: boolean; readonly json?: boolean },
  { stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'> = process,
): Promise<void> {
  if (yes) return;
  if (json || !stdin.isTTY)
    throw new TroupeError('INVALID_ARGUMENT', 'there is no terminal to ask: use --yes');
  const terminal = createInterface({ input: stdin, output: stdout });
  terminal.once('SIGINT', () => process.exit(exitCodes.interrupted));
  try {
    // Ctrl-D, or a terminal that is gone, is no confirmation.
    const closed = new Promise<string>((done) => terminal.once('close', () => done('')));
    const answer = await Promise.race([
      terminal.question(`${question} (y/N) `).catch(() => ''),
      closed,
    ]);
    if (/^y(es)?$/i.test(answer.trim())) return;
    throw new TroupeError('INVALID_ARGUMENT', 'nothing was changed');
  } finally {
    terminal.close();
  }
}
