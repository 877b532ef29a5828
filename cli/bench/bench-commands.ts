/** The commands `troupe bench`: load tests of an installation, and their reports. */
import type { Command } from 'commander';
import type { Finish } from '../command-parts.ts';
import { addPeersCommand } from './peers-commands.ts';
import { addReportCommands } from './report-commands.ts';
import { addRunCommands } from './run-commands.ts';

export function addBenchCommands(program: Command, finish: Finish): void {
  const group = program
    .command('bench')
    .description('load tests of an installation, and their reports');
  addRunCommands(group, finish);
  addReportCommands(group, finish);
  addPeersCommand(group, finish);
}
