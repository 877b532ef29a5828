/** The command that checks whether an endpoint follows the message rules. */
import type { Command } from 'commander';
import { examples, type Finish, withConfig, withJson } from '../command-parts.ts';
import { loading } from '../progress.ts';
import type { ConformanceOptions } from './conformance.ts';

const several = (value: string, before: readonly string[] = []) => [...before, value];

export function addConformance(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('conformance')))
    .argument(
      '[url]',
      'http(s):// or nats:// URL of any endpoint; default: the gateway of this machine',
    )
    .description('check that an endpoint follows the envelope rules, and print a report')
    .option(
      '--bearer <jwt>',
      'token of the requests; default: a token of this data folder’s issuer',
    )
    .option('--tenant <name>', 'tenant; default: the tenant of --bearer, otherwise `conformance`')
    .option('--sub <name>', 'principal, if the token does not contain it')
    .option('--roles <a,b>', 'roles, if the token does not contain them')
    .option('--external-token <token>', 'token of a program under A2A-External')
    .option('--external-key <file>', 'its private key (JWK)')
    .option('--stranger-token <token>', 'token of another tenant')
    .option('--profile <file>', 'JSON file: which actions of the endpoint the checks use')
    .option('--only <id>', 'only checks whose id starts with this; may be repeated', several)
    .option('--http <url>', 'with nats://: the HTTP URL of the same endpoint')
    .addHelpText(
      'after',
      examples(
        'troupe conformance',
        'troupe conformance nats://127.0.0.1:4222 --http http://127.0.0.1:18789',
        'troupe conformance https://agents.example.com --bearer … --profile theirs.json',
      ),
    )
    .action(async (url: string | undefined, options: ConformanceOptions) => {
      const { conformance } = await loading('the checks', () => import('./conformance.ts'));
      finish(await conformance(url, options));
    });
}
