/** Shared parts of commands: common options, and how help shows examples. */
import { type Command, InvalidArgumentError } from 'commander';

/** Ends the command with an exit code, or throws. */
export type Finish = (code: number) => void;

export const examples = (...lines: string[]) =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}\n`).join('')}`;

/** Options for the configuration's location and for overrides. */
export function withConfig(command: Command): Command {
  return command
    .option(
      '--config <file>',
      'configuration file (TROUPE_CONFIG; default: troupe.json5 in the data folder)',
    )
    .option('--data <dir>', 'data folder (TROUPE_HOME; default: ~/.troupe)')
    .option('--port <n>', 'port of the gateway (TROUPE_PORT; default 18789)')
    .option(
      '--token <token>',
      'token of the gateway (TROUPE_TOKEN; default: the token in the data folder)',
    );
}

export const withJson = (command: Command) => command.option('--json', 'print JSON for programs');

export const withClient = (command: Command) =>
  withConfig(command).option('--url <url>', 'another gateway, ws://host:port', gatewayUrl);

function gatewayUrl(text: string): string {
  if (URL.canParse(text) && /^(wss?|https?):$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('Expected the URL of a gateway, as ws://127.0.0.1:18789.');
}

/** For commands that read the configuration and connect to no gateway. */
export const withTenantOf = (command: Command) =>
  command.option('--tenant <name>', 'use the configuration of this tenant; default: `default`');

export const withTenant = (command: Command) =>
  command.option('--tenant <name>', 'tenant; default: the caller’s tenant');

/**
 * The command that runs when no command of the group is named. An unknown word is reported as an
 * unknown command, not as a superfluous argument.
 */
export const defaultCommand = (group: Command, name: string): Command =>
  group
    .command(name, { isDefault: true })
    .allowExcessArguments()
    .hook('preAction', (_, { args: [unknown] }) => {
      if (unknown === undefined) return;
      const names = group.commands.map((command) => command.name()).join(', ');
      group.error(`error: troupe ${group.name()} has no command '${unknown}'; it has ${names}`);
    });

/** Commander reports an error with the option's name. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('Expected a whole number, at least 1.');
}

/** Options for the cluster's location. */
export const withNats = (command: Command) =>
  command.option('--nats <url>', 'NATS servers of the cluster, nats://host:port (TROUPE_NATS_URL)');
