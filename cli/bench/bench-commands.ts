/** The commands `troupe bench`: load tests of an installation, and their reports. */
import type { Command } from 'commander';
import { examples, type Finish } from '../command-parts.ts';
import { addFaultsCommand } from './faults-commands.ts';
import { addPeersCommand } from './peers-commands.ts';
import { addReportCommands } from './report-commands.ts';
import { addRunCommands } from './run-commands.ts';

export function addBenchCommands(program: Command, finish: Finish): void {
  const group = program
    .command('bench')
    .description('load tests of an installation, tests of faults, and their reports')
    .addHelpText(
      'after',
      `
A command that is not named is \`run\`: \`troupe bench run --help\` lists its options and workloads.
${examples(
  'troupe bench',
  'troupe bench --rate 50 --duration 30s --mix runs=8,envelopes=2 --html load.html',
  "troupe bench --ramp 10..400 --slo 'p99=500ms,errors=0.1%' --json load.json",
)}`,
    );
  addRunCommands(group, finish);
  addReportCommands(group, finish);
  addFaultsCommand(group, finish);
  addPeersCommand(group, finish);
}
