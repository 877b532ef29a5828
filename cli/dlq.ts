/** `troupe dlq redrive`: sends one dead letter again, or all of a domain. */
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { letterParams, listDeadLetters, redriveDeadLetter } from '../operations/dead-letters.ts';
import { TroupeError } from '../protocols/errors.ts';
import { wireError } from '../protocols/task.ts';
import { examples, type Finish, withClient, withJson } from './command-parts.ts';
import { exitCodes } from './exit.ts';
import { type GatewayHttp, gatewayHttp } from './client/gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { printJson } from './output.ts';
import { callOperation } from './run-operation.ts';

type RedriveOptions = ClientOptions & {
  readonly why: string;
  readonly who?: string;
  readonly all?: boolean;
  readonly domain?: string;
};

/** Maximum number of dead letters in one response. */
const PAGE = 1_000;

export function addRedriveCommand(dlq: Command, finish: Finish): void {
  withJson(withClient(dlq.command('redrive')))
    .argument('[letter]', 'domain/position')
    .option('--all', 'all dead letters of a domain')
    .option('--domain <domain>', 'with --all: the domain')
    .requiredOption('--why <text>', 'the reason, which is recorded')
    .option(
      '--who <name>',
      'the operator, recorded with the name of the token; default: your user name',
    )
    .description('redrive a dead letter, or all of a domain')
    .addHelpText(
      'after',
      examples(
        "troupe dlq redrive orders/17 --why 'the payment service is back'",
        "troupe dlq redrive --all --domain orders --why 'the payment service is back'",
      ),
    )
    .action(async (letter: string | undefined, options: RedriveOptions) => {
      finish(await redrive(letter, options));
    });
}

async function redrive(letter: string | undefined, options: RedriveOptions): Promise<number> {
  if ((letter === undefined) !== (options.all === true))
    throw usage('name one dead letter, as orders/17, or use --all with --domain');
  const http = await gatewayHttp(options);
  if (letter !== undefined) {
    const result = await redriveOne(http, letterParams(letter), options);
    const { already } = result;
    const outcome = already
      ? `was already redriven at ${already.at} by ${already.who}: nothing was sent`
      : `was redriven as ${result.message_id}`;
    report(options, result, `${letter} ${outcome}\n`);
    return exitCodes.ok;
  }
  const { domain } = options;
  if (domain === undefined)
    throw usage('--all needs --domain: dead letters are redriven by domain');
  return redriveAll(http, domain, options);
}

const redriveOne = (
  http: GatewayHttp,
  letter: { readonly domain: string; readonly position: number },
  { why, who = userInfo().username }: RedriveOptions,
) => callOperation(redriveDeadLetter, http, { ...letter, why, who });

/**
 * Redrives the letters that exist now; a message that fails again is not sent a second time.
 * Letters that the gateway refuses remain, and the exit code is 1.
 */
async function redriveAll(
  http: GatewayHttp,
  domain: string,
  options: RedriveOptions,
): Promise<number> {
  const sent: Awaited<ReturnType<typeof redriveOne>>[] = [];
  const refused: { domain: string; position: number; error: ReturnType<typeof wireError> }[] = [];
  for (const position of await positionsIn(http, domain)) {
    try {
      sent.push(await redriveOne(http, { domain, position }, options));
    } catch (error) {
      if (!(error instanceof TroupeError) || !concernsLetter(error)) throw error;
      const { code, message } = error;
      refused.push({ domain, position, error: { code, message } });
    }
  }
  const remaining = refused.map((one) => `${domain}/${one.position}: ${one.error.message}\n`);
  report(options, { sent, refused }, `${sent.length} of ${domain} were redriven\n`);
  if (!options.json) process.stderr.write(remaining.join(''));
  return refused.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/** Other errors concern the gateway, so the next letter would fail as well. */
const concernsLetter = ({ code }: TroupeError): boolean =>
  code === 'NOT_FOUND' || code === 'INVALID_ARGUMENT' || code === 'CONFLICT';

async function positionsIn(http: GatewayHttp, domain: string): Promise<readonly number[]> {
  const all: number[] = [];
  for (;;) {
    const from = (all.at(-1) ?? 0) + 1;
    const page = await callOperation(listDeadLetters, http, { domain, from, limit: PAGE });
    all.push(...page.dead_letters.map(({ position }) => position));
    if (page.dead_letters.length < PAGE) return all;
  }
}

function report(options: ClientOptions, result: unknown, text: string): void {
  if (options.json) printJson(result);
  else process.stdout.write(text);
}

const usage = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
