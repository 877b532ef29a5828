/** The commands for the Model Context Protocol. */
import type { Command } from 'commander';
import { examples, type Finish, withClient } from '../command-parts.ts';
import type { ClientOptions } from '../options.ts';

export function addMcpCommands(program: Command, finish: Finish): void {
  const mcp = program
    .command('mcp')
    .description('Model Context Protocol: agents, tasks and sessions for other programs');
  withClient(mcp.command('serve'))
    .description('serve a program by stdin and stdout, as Claude Desktop and editors start it')
    .addHelpText(
      'after',
      `${examples('troupe mcp serve', 'troupe mcp serve --url ws://troupe.example:18789 --token TOKEN')}
A gateway must run: troupe start. Programs that speak HTTP use its URL /mcp instead.\n`,
    )
    .action(async (options: ClientOptions) => {
      finish(await (await import('./serve.ts')).mcpServe(options));
    });
}
