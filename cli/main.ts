#!/usr/bin/env node
/** Entry of the program `troupe`: runs one command and exits with its exit code. */
import { CommanderError } from 'commander';
import { exitCodes, reportFailure } from './exit.ts';
import { printJson } from './output.ts';
import { buildProgram } from './program.ts';

// A reader that closes the pipe early (`troupe sessions | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok);
  throw error;
});

const finish = (code: number): void => {
  process.exitCode = code;
};

try {
  const program = await buildProgram(finish, process.argv.slice(2));
  await program.parseAsync();
} catch (error) {
  const json = process.argv.includes('--json');
  if (!(error instanceof CommanderError)) {
    process.exitCode = reportFailure(error, { json });
  } else if (error.exitCode === 0) {
    process.exitCode = exitCodes.ok;
  } else {
    // Commander has printed it to stderr.
    const message = error.message.replace(/^error: /, '');
    if (json) printJson({ error: { code: 'INVALID_ARGUMENT', message } });
    process.exitCode = exitCodes.usage;
  }
}
