/** The commands for those who come to the door for programs: their keys and their tokens. */
import { type Command, InvalidArgumentError } from 'commander';
import { examples, type Finish, withClient, withConfig, withJson } from './command-parts.ts';
import type { KeyOptions, NewKeyOptions, RotateOptions } from './keys.ts';
import type { TokenOptions } from './token.ts';

export function addKeysCommands(program: Command, finish: Finish): void {
  const keys = program
    .command('keys')
    .description('keys with which programs outside sign their envelopes (A2A-External)');
  addNewKeys(keys, finish);
  addLooks(keys, finish);
  addToken(program, finish);
}

const load = () => import('./keys.ts');

const withTenant = (command: Command) =>
  command.option('--tenant <name>', 'tenant; default that of the gateway');
const withNewKey = (command: Command) =>
  withTenant(withJson(withClient(command)))
    .requiredOption('--sub <name>', 'whose key it is: the sub of its tokens')
    .option('--out <file>', 'file for the private key; default NAME.KEY.jwk in this folder');

function addNewKeys(keys: Command, finish: Finish): void {
  withNewKey(keys.command('create'))
    .description('make a pair of keys here, and register the public one for 90 days')
    .addHelpText('after', examples('troupe keys create --sub partner --out partner.jwk'))
    .action(async (options: NewKeyOptions) => finish(await (await load()).create(options)));
  withNewKey(keys.command('rotate'))
    .description('make a new pair; the old keys stay good for a while')
    .option('--overlap <time>', 'how long they do, up to 30d; default 7d', seconds)
    .addHelpText('after', examples('troupe keys rotate --sub partner --overlap 2d'))
    .action(async (options: RotateOptions) => finish(await (await load()).rotate(options)));
}

function addLooks(keys: Command, finish: Finish): void {
  withTenant(withJson(withClient(keys.command('list'))))
    .description('list the public keys, whose they are and until when they are good')
    .action(async (options: KeyOptions) => finish(await (await load()).list(options)));
  withTenant(withJson(withClient(keys.command('revoke'))))
    .argument('<kid>', 'the key’s name, as list shows it')
    // One name in 64 begins with a dash, like an option.
    .allowUnknownOption()
    .description('end a key at once and for good')
    .action(async (kid: string, options: KeyOptions) => {
      finish(await (await load()).revoke(kid, options));
    });
}

function addToken(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('token')))
    .description('print a token that the gateway of this data folder believes')
    .requiredOption('--sub <name>', 'whom it names')
    .option('--tenant <name>', 'tenant', 'default')
    .option('--roles <list>', 'roles, with commas between', '')
    .option('--ttl <time>', 'how long it is good, up to 365d; default 1h', seconds)
    .option('--external', 'its envelopes must be signed (A2A-External)')
    .addHelpText(
      'after',
      examples(
        'troupe token --sub ann --roles writer,reader --ttl 8h',
        'troupe token --sub partner --tenant acme --external',
      ),
    )
    .action(async (options: TokenOptions) => {
      finish(await (await import('./token.ts')).token(options));
    });
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** A time span with its unit, in seconds. Refused by commander with the option's name. */
function seconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Number(count) * UNITS[unit]!;
  throw new InvalidArgumentError('Give a number and a unit, as 90s, 30m, 8h or 7d.');
}
