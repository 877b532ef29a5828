/** The command `troupe bench peers`. */
import type { Command } from 'commander';
import { examples, type Finish, wholeNumber, withJson } from '../command-parts.ts';
import type { PeersOptions } from './peers/peers.ts';

export function addPeersCommand(group: Command, finish: Finish): void {
  withJson(group.command('peers'))
    .description('measure troupe beside other systems that are installed in a folder')
    .option('--folder <dir>', 'folder with their packages in node_modules; default: this one')
    .option('--only <name>', 'troupe, nats, bullmq, dbos or restate')
    .option('--seconds <n>', 'of each of the two measurements; default 10', wholeNumber)
    .addHelpText(
      'after',
      `
The work: a durable ask of a counter, one at a time and 64 at once. Packages that are missing, and
servers (nats-server, redis-server, postgres) that are not on PATH, are named and left out.
${examples(
  'npm install --prefix peers bullmq @dbos-inc/dbos-sdk pg',
  'troupe bench peers --folder peers',
  'troupe bench peers --folder peers --only bullmq --seconds 30',
)}`,
    )
    .action(async (options: PeersOptions) => {
      finish(await (await import('./peers/peers.ts')).peers(options));
    });
}
