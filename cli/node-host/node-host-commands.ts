/** `troupe node`: this machine as a node of a gateway. */
import { type Command, Option } from 'commander';
import { examples, type Finish, withClient } from '../command-parts.ts';
import type { NodeRunOptions } from './run.ts';

const list = (value: string, known: readonly string[] = []): readonly string[] => [...known, value];

export function addNodeHost(program: Command, finish: Finish): void {
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
      finish(await (await import('./run.ts')).run(options));
    });
}
