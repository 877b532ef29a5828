/** The commands for messages between agents. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { ConversationOptions, ConversationsOptions } from './conversations.ts';

const load = () => import('./conversations.ts');

export function addConversationsCommands(program: Command, finish: Finish): void {
  const conversations = program
    .command('conversations')
    .description('messages between agents, and what followed from them');
  const withAll = (command: Command) => withTenant(withJson(withClient(command)));
  withAll(defaultCommand(conversations, 'list'))
    .description('list those that go on and those of the last 28 hours, newest first')
    .option('--session <key>', 'only those of one session, whichever side it is')
    .addHelpText('after', examples('troupe conversations --session agent:coder:main'))
    .action(async (options: ConversationsOptions) => finish(await (await load()).list(options)));
  withAll(conversations.command('show'))
    .argument('<id>', 'the conversation')
    .description('show one: each turn, whose it was, its run and how it ended')
    .action(async (id: string, options: ConversationOptions) => {
      finish(await (await load()).show(id, options));
    });
  withAll(conversations.command('end'))
    .argument('<id>', 'the conversation')
    .description('end one: no more turns; a run that goes on ends by itself')
    .action(async (id: string, options: ConversationOptions) => {
      finish(await (await load()).end(id, options));
    });
}
