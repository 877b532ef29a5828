/**
 * Commands of operations: arguments, options, help and examples are derived from the definition. A
 * command sends the operation's HTTP request to the gateway and prints the result.
 */
import type { Command } from 'commander';
import type { Operation, Resource } from '../operations/operation.ts';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { ClientOptions } from './options.ts';
import type { Given } from './run-operation.ts';

/** Adds the command group of a resource. */
export function addResourceCommands(
  program: Command,
  finish: Finish,
  { name, description, operations }: Resource,
): void {
  const group = program.command(name).description(description);
  for (const operation of operations) if (operation.cli) addCommand(group, finish, operation);
}

function addCommand(group: Command, finish: Finish, operation: Operation): void {
  const { cli, params, scope, summary } = operation;
  if (!cli) return;
  const { command, args = [], flags, isDefault } = cli;
  const name = command.slice(command.indexOf(' ') + 1);
  const made = withJson(withClient(isDefault ? defaultCommand(group, name) : group.command(name)));
  if (scope === 'tenant') withTenant(made);
  made.description(sentence(summary));
  for (const [key, { description = '' }] of Object.entries(params.properties)) {
    const isRequired = params.required?.includes(key) ?? false;
    const text = sentence(description);
    if (args.includes(key)) made.argument(isRequired ? `<${key}>` : `[${key}]`, text);
    else if (isRequired) made.requiredOption(flags?.[key] ?? `--${key} <value>`, text);
    else made.option(flags?.[key] ?? `--${key} <value>`, text);
  }
  if (cli.examples) made.addHelpText('after', examples(...cli.examples));
  made.action(async () => {
    const options = made.opts<ClientOptions & Given>();
    const positional = Object.fromEntries(args.map((key, at) => [key, made.args[at]]));
    const { runOperation } = await import('./run-operation.ts');
    finish(await runOperation(operation, options, { ...options, ...positional }));
  });
}

/** Help begins in lower case, as commander's own does. */
const sentence = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
