/** `troupe keys create`, `troupe keys rotate` and `troupe token`: credentials of programs. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  examples,
  type Finish,
  withClient,
  withConfig,
  withJson,
  withTenant,
} from '../command-parts.ts';
import type { NewKeyOptions, RotateOptions } from './keys.ts';
import type { TokenOptions } from './token.ts';

const load = () => import('./keys.ts');

const withNewKey = (command: Command) =>
  withTenant(withJson(withClient(command)))
    .requiredOption('--sub <name>', 'the program that signs with the key: the sub of its tokens')
    .option(
      '--out <file>',
      'file for the private key; default: NAME.KEY.jwk in the current folder',
    );

export function addNewKeyCommands(keys: Command, finish: Finish): void {
  withNewKey(keys.command('create'))
    .description('create a key pair, and register the public key for 90 days')
    .addHelpText('after', examples('troupe keys create --sub partner --out partner.jwk'))
    .action(async (options: NewKeyOptions) => finish(await (await load()).create(options)));
  withNewKey(keys.command('rotate'))
    .description('create a new key pair; the replaced keys stay valid for a while')
    .option('--overlap <time>', 'how long they stay valid, up to 30d; default 7d', seconds)
    .addHelpText('after', examples('troupe keys rotate --sub partner --overlap 2d'))
    .action(async (options: RotateOptions) => finish(await (await load()).rotate(options)));
}

export function addTokenCommand(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('token')))
    .description('print a token signed for the gateway of this data folder')
    .requiredOption('--sub <name>', 'the program or user that the token names')
    .option('--tenant <name>', 'tenant', 'default')
    .option('--roles <list>', 'roles, separated by commas', '')
    .option('--ttl <time>', 'lifetime, up to 365d; default 1h', seconds)
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

/** A duration with its unit, in seconds. Commander reports an error with the option's name. */
function seconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Number(count) * UNITS[unit]!;
  throw new InvalidArgumentError('Expected a number and a unit, as 90s, 30m, 8h or 7d.');
}
