/**
 * The commands of operations. Arguments, options, help and examples are derived from the
 * definition. A command sends the operation's HTTP request to the gateway and prints the result.
 */
import { Kind, type TSchema } from '@sinclair/typebox';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Operation, Resource } from '../operations/operation.ts';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { TenantClientOptions } from './options.ts';

export type GroupOptions = {
  readonly description: string;
  /** adds commands of the same group that are not a single operation */
  readonly addOthers?: ((group: Command, finish: Finish) => void) | undefined;
};

/** Adds the commands of a resource. */
export function addResourceCommands(
  program: Command,
  finish: Finish,
  { name, operations }: Resource,
  { description, addOthers }: GroupOptions,
): void {
  const isGroup =
    addOthers !== undefined || operations.some(({ cli }) => cli?.command.includes(' '));
  const group = isGroup ? program.command(name).description(description) : program;
  addOperations(group, finish, operations);
  addOthers?.(group, finish);
}

/** Adds those operations that have a command to a group that exists. */
export function addOperations(
  group: Command,
  finish: Finish,
  operations: readonly Operation[],
): void {
  for (const operation of operations) if (operation.cli) addCommand(group, finish, operation);
}

function addCommand(group: Command, finish: Finish, operation: Operation): void {
  const { cli, params, scope, summary } = operation;
  if (!cli) return;
  const { command, args = [], flags = {}, input } = cli;
  const name = command.slice(command.indexOf(' ') + 1);
  const made = withJson(
    withClient(name === 'list' ? defaultCommand(group, name) : group.command(name)),
  );
  if (scope !== 'installation') withTenant(made);
  made.description(lowerCase(summary));
  const { properties, required = [] } = input?.schema ?? params;
  for (const key of args) made.addArgument(argumentOf(key, properties[key], required));
  /** commander's names of the options, by parameter */
  const names = new Map<string, string>();
  for (const [key, schema] of Object.entries(properties)) {
    if (args.includes(key)) continue;
    const flag = flags[key] ?? flagsOf(key, schema);
    const option = optionOf(flag, schema, required.includes(key));
    names.set(key, option.attributeName());
    if (key !== 'tenant') made.addOption(option);
  }
  if (cli.question) made.option('-y, --yes', 'do not ask');
  if (cli.examples) made.addHelpText('after', examples(...cli.examples));
  if (cli.allowsDash) made.allowUnknownOption();
  made.action(async () => {
    const options = made.opts<TenantClientOptions & Record<string, unknown>>();
    const named = Object.keys(properties).map((key) => {
      const at = args.indexOf(key);
      return [key, at < 0 ? options[names.get(key) ?? key] : made.processedArgs[at]];
    });
    const given = Object.fromEntries(named.filter(([, value]) => value !== undefined));
    const { runOperation } = await import('./run-operation.ts');
    const sent = input ? input.toParams(given) : given;
    const question = cli.question?.(sent);
    if (question !== undefined) await (await import('./confirm.ts')).confirm(question, options);
    finish(await runOperation(operation, options, sent, given));
  });
}

function argumentOf(key: string, schema: TSchema | undefined, required: readonly string[]) {
  const name = required.includes(key) ? `<${key}>` : `[${key}]`;
  const argument = new Argument(name, lowerCase(schema?.description ?? ''));
  const choices = choicesOf(schema);
  return choices ? argument.choices(choices) : argument;
}

const flagsOf = (key: string, { [Kind]: kind }: TSchema): string =>
  `--${key}${kind === 'Boolean' ? '' : kind === 'Integer' ? ' <n>' : ' <value>'}`;

function optionOf(flags: string, schema: TSchema, isRequired: boolean): Option {
  const option = new Option(flags, lowerCase(schema.description ?? ''));
  const choices = choicesOf(schema);
  if (choices) option.choices(choices);
  if (schema[Kind] === 'Integer') option.argParser(wholeNumber);
  if (schema[Kind] === 'Unknown') option.argParser(jsonOf);
  if (schema.default !== undefined) option.default(schema.default);
  return option.makeOptionMandatory(isRequired);
}

const choicesOf = (schema: TSchema | undefined): string[] | undefined =>
  schema?.[Kind] === 'Union'
    ? (schema['anyOf'] as readonly { readonly const: string }[]).map((one) => one.const)
    : undefined;

/** Commander reports an error with the option's name. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('Give JSON.');
  }
}

/** Lower-case first letter, as in commander's own help; abbreviations are kept. */
const lowerCase = (text: string): string =>
  text.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
