#!/usr/bin/env node
/** Entry of the program `troupe`: runs one command and exits with its exit code. */
import { CommanderError } from 'commander';
import { exitCodes, reportFailure } from './exit.ts';
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
  process.exitCode =
    error instanceof CommanderError
      ? error.exitCode === 0
        ? exitCodes.ok
        : exitCodes.usage
      : reportFailure(error, { json: process.argv.includes('--json') });
}
