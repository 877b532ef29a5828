/** The commands for nodes: devices that execute commands, and this machine as one. */
import { type Command, Option } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withJson,
} from '../command-parts.ts';
import type { NodeRunOptions } from '../node-host/run.ts';
import type { InvokeOptions } from './nodes.ts';
import type { ClientOptions } from '../options.ts';

const list = (value: string, known: readonly string[] = []): readonly string[] => [...known, value];

export function addNodesCommands(program: Command, finish: Finish): void {
  addNodeHost(program, finish);
  const nodes = program
    .command('nodes')
    .description('devices that execute commands: machines and browser pages');
  const load = () => import('./nodes.ts');
  withJson(withClient(defaultCommand(nodes, 'list')))
    .description('list nodes and pending approvals')
    .action(async (options: ClientOptions) => finish(await (await load()).list(options)));
  withJson(withClient(nodes.command('describe')))
    .argument('<node>', 'its id, a prefix of the id, or its name')
    .description('show the commands of a node, and what its owner permits')
    .action(async (node: string, options: ClientOptions) => {
      finish(await (await load()).describe(node, options));
    });
  withJson(withClient(nodes.command('invoke')))
    .argument('<node>', 'its id, a prefix of the id, or its name')
    .argument('<command>', 'as system.which')
    .option('--params <json>', 'parameters of the command', '{}')
    .option('--timeout <seconds>', 'time limit; default 30', wholeNumber)
    .option('--key <key>', 'idempotency key: a repeat returns the first answer')
    .description('execute a command on a node, and print the answer')
    .addHelpText(
      'after',
      examples(`troupe nodes invoke box system.which --params '{"bins":["git"]}'`),
    )
    .action(async (node: string, command: string, options: InvokeOptions) => {
      finish(await (await load()).invoke(node, command, options));
    });
  for (const word of ['approve', 'reject'] as const) {
    withJson(withClient(nodes.command(word)))
      .argument('<request>', 'id of the request, from `troupe nodes`')
      .description(
        word === 'approve' ? 'approve the commands of a node' : 'reject the commands of a node',
      )
      .action(async (request: string, options: ClientOptions) => {
        finish(await (await load()).decide(word, request, options));
      });
  }
  withJson(withClient(nodes.command('rename')))
    .argument('<node>', 'its id, a prefix of the id, or its name')
    .argument('<name>', 'display name')
    .description('rename a node')
    .action(async (node: string, name: string, options: ClientOptions) => {
      finish(await (await load()).rename(node, name, options));
    });
  withJson(withClient(nodes.command('remove')))
    .argument('<node>', 'its id, a prefix of the id, or its name')
    .description('remove a node: it must be paired again')
    .action(async (node: string, options: ClientOptions) => {
      finish(await (await load()).remove(node, options));
    });
}

function addNodeHost(program: Command, finish: Finish): void {
  const node = program.command('node').description('this machine as a node of a gateway');
  node.action(() => node.help());
  withClient(node.command('run'))
    .description('connect, and execute commands of operators and agents')
    .option('--display-name <name>', 'display name; default: the host name')
    .option('--root <folder>', 'offer the files of a folder: path, path:ro or path:rw', list)
    .option('--allow <pattern>', "commands that run without an approval, as 'git status'", list)
    .addOption(
      new Option('--exec <mode>', 'mode for commands that no --allow covers')
        .choices(['ask', 'deny', 'allow', 'off'])
        .default('ask'),
    )
    .addHelpText(
      'after',
      examples(
        'troupe node run --url ws://gateway.example:18789 --token …',
        "troupe node run --root ~/notes:rw --root /var/log --allow 'git status' --allow 'ls *'",
      ),
    )
    .action(async (options: NodeRunOptions) => {
      finish(await (await import('../node-host/run.ts')).run(options));
    });
}
