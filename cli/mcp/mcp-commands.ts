/** The commands for the Model Context Protocol. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withConfig,
  withJson,
  withTenantOf,
} from '../command-parts.ts';
import type { ClientOptions, CommonOptions, TenantOptions } from '../options.ts';
import type { LoginOptions } from './login.ts';
import type { AddOptions } from './servers.ts';

export function addMcpCommands(program: Command, finish: Finish): void {
  const mcp = program
    .command('mcp')
    .description(
      'Model Context Protocol: servers whose tools agents have, and agents for other programs',
    );
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
  addServerCommands(mcp, finish);
}

function addServerCommands(mcp: Command, finish: Finish): void {
  const load = () => import('./servers.ts');
  const withOptions = (made: Command) => withJson(withConfig(made));
  const command = (name: string) => withOptions(mcp.command(name));
  addAdd(command('add <name> <target...>'), finish);
  withTenantOf(withOptions(defaultCommand(mcp, 'list')))
    .description('connect to the MCP servers of the configuration, and print what they answer')
    .action(async (options: TenantOptions) => finish(await (await load()).list(options)));
  withTenantOf(command('tools <name>'))
    .description('connect to an MCP server and print the tools that agents have of it')
    .action(async (name: string, options: TenantOptions) =>
      finish(await (await load()).tools(name, options)),
    );
  addLogin(mcp, finish);
  command('remove <name>')
    .description('remove an MCP server from the configuration file, and its logins')
    .action(async (name: string, options: CommonOptions) =>
      finish(await (await load()).remove(name, options)),
    );
}

function addLogin(mcp: Command, finish: Finish): void {
  const load = () => import('./login.ts');
  const command = (name: string) => withTenantOf(withJson(withConfig(mcp.command(name))));
  command('login <name>')
    .description('log in to an MCP server by OAuth, in a browser; a running troupe uses the login')
    .option('--no-browser', 'only print the address of the page')
    .option('--timeout <seconds>', 'how long to wait for the login', wholeNumber, 300)
    .action(async (name: string, options: LoginOptions) =>
      finish(await (await load()).login(name, options)),
    );
  command('logout <name>')
    .description('remove the login to an MCP server, and end it at its authorization server')
    .action(async (name: string, options: TenantOptions) =>
      finish(await (await load()).logout(name, options)),
    );
}

function addAdd(command: Command, finish: Finish): void {
  command
    .description('add an MCP server to the configuration file: a program, or a URL')
    .option('--env <pair...>', 'NAME=VALUE, or NAME: this variable of troupe’s environment')
    .option('--header <pair...>', 'NAME=VALUE of a header, for a URL')
    .option('--header-env <pair...>', 'NAME=VARIABLE: its value is in this environment variable')
    .option('--cwd <folder>', 'folder that the program works in and may change')
    .option('--no-sandbox', 'run the program with all rights of this user')
    .option('--allow-private', 'the URL may have a private address, this machine included')
    .option('--approval <which>', 'calls that need an approval: always, changes (default) or never')
    .option('--allow <tool...>', 'only these tools; * means any characters')
    .option('--deny <tool...>', 'not these tools; * means any characters')
    .addHelpText(
      'after',
      examples(
        'troupe mcp add files --cwd /srv/notes -- mcp-server-filesystem /workspace',
        'troupe mcp add tickets https://tickets.example/mcp --header-env Authorization=TICKETS_AUTH',
      ),
    )
    .action(async (name: string, target: string[], options: AddOptions) =>
      finish(await (await import('./servers.ts')).add(name, target, options)),
    );
}
