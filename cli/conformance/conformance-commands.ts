/** The command that checks whether an endpoint follows the message rules. */
import type { Command } from 'commander';
import { examples, type Finish, withConfig, withJson } from '../command-parts.ts';
import type { ConformanceOptions } from './conformance.ts';

const several = (value: string, before: readonly string[] = []) => [...before, value];

export function addConformance(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('conformance')))
    .argument('[url]', 'http(s):// or nats:// of any endpoint; default the gateway of this machine')
    .description('check that an endpoint keeps the rules of envelopes, and print a report')
    .option('--bearer <jwt>', 'token to ask with; default one made by this data folder’s issuer')
    .option('--tenant <name>', 'tenant; default `conformance`, with --bearer that of the token')
    .option('--sub <name>', 'principal, where the token does not say it')
    .option('--roles <a,b>', 'roles, where the token does not say them')
    .option('--external-token <token>', 'token of a program under A2A-External')
    .option('--external-key <file>', 'its private key (JWK)')
    .option('--stranger-token <token>', 'token of another tenant')
    .option('--profile <file>', 'JSON: which actions of the other side play which part')
    .option('--only <id>', 'only checks whose id begins so; may be repeated', several)
    .option('--http <url>', 'with nats://: where its HTTP side is')
    .addHelpText(
      'after',
      examples(
        'troupe conformance',
        'troupe conformance nats://127.0.0.1:4222 --http http://127.0.0.1:18789',
        'troupe conformance https://agents.example.com --bearer … --profile theirs.json',
      ),
    )
    .action(async (url: string | undefined, options: ConformanceOptions) => {
      finish(await (await import('./conformance.ts')).conformance(url, options));
    });
}
