/** The command `troupe bench faults`. */
import type { Command } from 'commander';
import { examples, type Finish, withJson } from '../command-parts.ts';
import { loading } from '../progress.ts';
import type { FaultsOptions } from './faults/options.ts';

export function addFaultsCommand(group: Command, finish: Finish): void {
  withJson(group.command('faults'))
    .description('break a cell of its own under load, and account for every message')
    .option('--embedded', 'one process without NATS, instead of a cluster')
    .option('--workers <n>', 'of the cluster; default 3')
    .option('--nats-server <path>', 'the program (TROUPE_NATS_SERVER; default: on PATH)')
    .option('--upgrade-to <path>', 'another version of troupe, for the fault upgrade')
    .option('--faults <kinds>', 'as kill,freeze; default: all that the cell can have')
    .option('--every <time>', 'from one fault to the next; default 5s')
    .option('--duration <time>', 'how long faults begin; default 60s')
    .option('--count <n>', 'number of faults, instead of --duration')
    .option('--rate <n>', 'messages and envelopes per second; default 5')
    .option('--envelopes <share>', 'share of envelopes; default 20%')
    .option('--sessions <n>', 'sessions that receive messages; default 12')
    .option('--model <script>', 'how the scripted model answers, as in `troupe bench run`')
    .option('--settle <time>', 'what has no end by then is lost; default 2m')
    .option('--seed <n>', 'the same seed has the same faults; default random, and printed')
    .option('--out <file>', 'write the account: FILE.md, FILE.json and FILE.rows.jsonl')
    .addHelpText(
      'after',
      `
It starts nats-server, workers, a gateway and a scripted model in a temporary folder, breaks only
processes that it started, and ends and removes all of them. Your installation is not touched.

Faults:
  kill          kill -9 of a worker, which is started again within 2 s
  freeze        a worker is stopped for 2 to 4 s, and continues
  partition     a worker cannot reach NATS for 2 to 4 s
  gateway-kill  kill -9 of the gateway
  nats-restart  kill -9 of nats-server, which is started again within 2 s
  upgrade       a worker is stopped and started with the program of --upgrade-to: each worker
                once, then the gateway, and then all in turn with this program again
--embedded has kill, freeze and upgrade.

Each message and envelope must have one end: one line in its transcript, one answer, one task.

Exit codes: 0 nothing found, 1 a message is lost, doubled or different, 130 stopped by Ctrl-C.
${examples(
  'troupe bench faults --embedded --count 5',
  'troupe bench faults --duration 5m --out account',
  'troupe bench faults --faults kill,partition --every 10s --seed 7',
  'troupe bench faults --faults upgrade --upgrade-to ../other/node_modules/troupe --count 8',
)}`,
    )
    .action(async (options: FaultsOptions) => {
      const { faults } = await loading('the test of faults', () => import('./faults/faults.ts'));
      finish(await faults(options));
    });
}
