/** The commands of a cluster: its processes, its state, and the health of its parts. */
import type { Command } from 'commander';
import type { ClusterViewOptions } from './cluster.ts';
import type { ResetKeysOptions } from './cluster-keys.ts';
import { examples, type Finish, withConfig, withJson, withNats } from '../command-parts.ts';
import type { HealthOptions } from '../processes/health.ts';
import type { CommonOptions } from '../options.ts';

/** @param args the command line: the operations are loaded only when it names the group */
export const addClusterCommands =
  (args: readonly string[]) =>
  async (program: Command, finish: Finish): Promise<void> => {
    addGateway(program, finish);
    addWorker(program, finish);
    const group = addCluster(program, finish);
    if (args.includes(group.name())) await addClusterOperations(group, finish);
    addHealth(program, finish);
  };

async function addClusterOperations(group: Command, finish: Finish): Promise<void> {
  const { addOperations } = await import('../operation-commands.ts');
  addOperations(group, finish, (await import('../../operations/cluster.ts')).cluster.operations);
}

const withName = (command: Command) =>
  command.option(
    '--name <name>',
    'name of this process, the same after a restart (TROUPE_NODE_NAME; default: the host name)',
  );

function addGateway(program: Command, finish: Finish): void {
  withJson(withName(withNats(withConfig(program.command('gateway')))))
    .option('--bind <where>', 'loopback, lan, or an IP address (TROUPE_BIND; default loopback)')
    .description('run a gateway of a cluster in this process and print the URL of its page')
    .addHelpText(
      'after',
      examples(
        'troupe gateway --nats nats://127.0.0.1:4222',
        'troupe gateway --nats nats://a:4222,nats://b:4222 --bind lan --port 80',
      ),
    )
    .action(async (options: CommonOptions) => {
      finish(await (await import('../processes/gateway.ts')).gateway(options));
    });
}

function addWorker(program: Command, finish: Finish): void {
  withJson(withName(withNats(withConfig(program.command('worker')))))
    .option('--weight <n>', 'its share of the shards relative to other workers; default 1')
    .description('run a worker of a cluster in this process: actors, model calls and tools')
    .addHelpText(
      'after',
      examples(
        'troupe worker --nats nats://127.0.0.1:4222',
        'troupe worker --nats nats://127.0.0.1:4222 --name big --weight 2',
      ),
    )
    .action(async (options: CommonOptions) => {
      finish(await (await import('../processes/worker.ts')).worker(options));
    });
}

function addCluster(program: Command, finish: Finish): Command {
  const cluster = program.command('cluster');
  addResetKeys(cluster, finish);
  withJson(withNats(withConfig(cluster)))
    .option('--watch', 'refresh every second, until Ctrl-C')
    .option('--shards', 'show every shard, not only those with a problem')
    .option('--check <node>', 'only check whether the process of this name responds')
    .description('show workers, gateways and shards of a cluster')
    .addHelpText(
      'after',
      examples(
        'troupe cluster --nats nats://127.0.0.1:4222',
        'troupe cluster --watch',
        'troupe cluster --check worker-1',
      ),
    )
    .action(async (options: ClusterViewOptions) => {
      finish(await (await import('./cluster.ts')).cluster(options));
    });
  return cluster;
}

function addResetKeys(cluster: Command, finish: Finish): void {
  withJson(withNats(withConfig(cluster.command('reset-keys'))))
    .option('--secret-only', 'only remove the join secret; keys in data folders stay valid')
    .option('--yes', 'confirm that data protected by the former keys is lost')
    .description(
      'remove the stored keys of a stopped cluster, after its keys or join secret were lost',
    )
    .addHelpText(
      'after',
      examples(
        'troupe cluster reset-keys --nats nats://127.0.0.1:4222 --yes',
        'troupe cluster reset-keys --nats nats://127.0.0.1:4222 --secret-only',
      ),
    )
    .action(async (_: object, command: Command) => {
      const { resetKeys } = await import('./cluster-keys.ts');
      finish(await resetKeys(command.optsWithGlobals<ResetKeysOptions>()));
    });
}

function addHealth(program: Command, finish: Finish): void {
  withJson(withName(withNats(withConfig(program.command('health')))))
    .option('--worker', 'check the worker of this name instead of the gateway')
    .description('check whether the gateway of this machine is ready: exit code 0 or 1')
    .addHelpText('after', examples('troupe health', 'troupe health --worker'))
    .action(async (options: HealthOptions) => {
      finish(await (await import('../processes/health.ts')).health(options));
    });
}
