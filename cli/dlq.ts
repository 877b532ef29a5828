/**
 * `troupe dlq`: dead letters, the messages that could not be applied or got done: looked at, sent
 * again or set aside, with a record of who did it and why (EN11).
 */
import { userInfo } from 'node:os';
import { TroupeError } from '../protocols/errors.ts';
import type { WireError } from '../protocols/task.ts';
import { exitCodes } from './exit.ts';
import { type GatewayHttp, gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { ago, table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type DlqListOptions = ClientOptions & {
  readonly domain?: string;
  readonly limit?: number;
};

export type DlqAuditOptions = ClientOptions & {
  readonly why: string;
  readonly who?: string;
};

export type DlqRedriveOptions = DlqAuditOptions & {
  readonly all?: boolean;
  readonly domain?: string;
};

type Letter = {
  readonly domain: string;
  readonly position: number;
  readonly at: string;
  readonly to: string;
  readonly from?: string;
  readonly reason: string;
  readonly error: WireError;
  readonly event_type?: string;
};
type Shown = Letter & {
  readonly event?: unknown;
  readonly audits: readonly { who: string; why: string; at: string; action: string }[];
};
type Listed = { readonly dead_letters: readonly Letter[]; readonly domains: readonly string[] };
type Done = {
  readonly domain: string;
  readonly position: number;
  readonly message_id?: string;
  /** it was sent again before, and nothing was sent now */
  readonly already?: { readonly at: string; readonly who: string };
};

/** The gateway lists at most so many at once. */
const PAGE = 1_000;
const LIST_DEFAULT = 100;

export async function list(options: DlqListOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const { domain, limit = LIST_DEFAULT } = options;
  const listed = await page(http, { domain, limit });
  const { dead_letters: letters } = listed;
  if (options.json) printJson(listed);
  else if (letters.length === 0)
    process.stdout.write(`there are no dead letters${where(options)}\n`);
  else {
    const head = ['letter', 'age', 'reason', 'message', 'to', 'error'];
    process.stdout.write(table(head, letters.map(cells)));
    if (letters.length === (options.limit ?? LIST_DEFAULT))
      process.stderr.write('there may be more: --limit lists up to 1000, --domain one domain\n');
  }
  return exitCodes.ok;
}

export async function show(letter: string, options: ClientOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const found = await http<Shown>({ method: 'GET', path: pathOf(letter) });
  if (options.json) printJson(found);
  else process.stdout.write(pageOf(found));
  return exitCodes.ok;
}

/** One letter, or all of a domain: those that the door refuses stay, and the exit code says so. */
export async function redrive(
  letter: string | undefined,
  options: DlqRedriveOptions,
): Promise<number> {
  if ((letter === undefined) !== (options.all === true))
    throw usage('name one letter, as orders/17, or give --all with --domain');
  const http = await gatewayHttp(options);
  if (letter !== undefined) {
    const done = await act<Done>(http, letter, 'redrive', options);
    const { already } = done;
    const words = already
      ? `was already sent again at ${already.at} by ${already.who}: nothing was sent`
      : `was sent again as ${done.message_id}`;
    report(options, done, `${letter} ${words}\n`);
    return exitCodes.ok;
  }
  const { domain } = options;
  if (domain === undefined) throw usage('--all needs --domain: letters are sent again by domain');
  return redriveAll(http, domain, options);
}

export async function drop(letter: string, options: DlqAuditOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const done = await act<Done>(http, letter, 'drop', options);
  report(options, done, `${letter} is set aside\n`);
  return exitCodes.ok;
}

/**
 * Those that there are now; what becomes a dead letter again meanwhile is not sent a second time.
 */
async function redriveAll(
  http: GatewayHttp,
  domain: string,
  options: DlqRedriveOptions,
): Promise<number> {
  const sent: Done[] = [];
  const refused: { domain: string; position: number; error: WireError }[] = [];
  for (const { position } of await everyLetter(http, domain)) {
    try {
      sent.push(await act<Done>(http, `${domain}/${position}`, 'redrive', options));
    } catch (error) {
      if (!(error instanceof TroupeError) || !isOfLetter(error)) throw error;
      const { code, message } = error;
      refused.push({ domain, position, error: { code, message } });
    }
  }
  const rest = refused.map(({ position, error }) => `${domain}/${position}: ${error.message}\n`);
  report(options, { sent, refused }, `${sent.length} of ${domain} were sent again\n`);
  if (!options.json) process.stderr.write(rest.join(''));
  return refused.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/** What is wrong with one letter is not wrong with the next; a lost gateway is. */
const isOfLetter = ({ code }: TroupeError): boolean =>
  code === 'NOT_FOUND' || code === 'INVALID_ARGUMENT' || code === 'CONFLICT';

async function everyLetter(http: GatewayHttp, domain: string): Promise<readonly Letter[]> {
  const all: Letter[] = [];
  for (let from = 1; ; ) {
    const { dead_letters: letters } = await page(http, { domain, from, limit: PAGE });
    all.push(...letters);
    if (letters.length < PAGE) return all;
    from = letters.at(-1)!.position + 1;
  }
}

function page(
  http: GatewayHttp,
  { domain, from, limit }: { domain?: string | undefined; from?: number; limit: number },
): Promise<Listed> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ domain, from, limit }))
    if (value !== undefined) query.set(name, String(value));
  return http<Listed>({ method: 'GET', path: `/v1/dead-letters?${query}` });
}

function act<T>(
  http: GatewayHttp,
  letter: string,
  action: 'redrive' | 'drop',
  { why, who = userInfo().username }: DlqAuditOptions,
): Promise<T> {
  return http<T>({ method: 'POST', path: `${pathOf(letter)}/${action}`, body: { why, who } });
}

/** @throws TroupeError INVALID_ARGUMENT */
function pathOf(letter: string): string {
  const [, domain, position] = /^([a-z][a-z0-9_]*)\/([1-9][0-9]*)$/.exec(letter) ?? [];
  if (domain === undefined)
    throw usage(
      `${JSON.stringify(letter)} names no dead letter: write domain/position, as orders/17`,
    );
  return `/v1/dead-letters/${domain}/${position}`;
}

function report(options: ClientOptions, result: unknown, words: string): void {
  if (options.json) printJson(result);
  else process.stdout.write(words);
}

const where = ({ domain }: DlqListOptions): string => (domain ? ` in ${domain}` : '');

const cells = ({ domain, position, at, reason, event_type, to, error }: Letter): string[] => [
  `${domain}/${position}`,
  ago(Date.now() - Date.parse(at)),
  reason,
  event_type ?? '',
  to,
  `${error.code}: ${error.message.replaceAll(/\s+/g, ' ').slice(0, 60)}`,
];

function pageOf({ domain, position, at, to, from, reason, error, event, audits }: Shown): string {
  const lines = [
    `letter   ${domain}/${position}`,
    `at       ${at}`,
    `to       ${to}`,
    ...(from ? [`from     ${from}`] : []),
    `reason   ${reason}`,
    `error    ${error.code}: ${error.message}`,
    ...(event === undefined ? [] : ['message', JSON.stringify(event, null, 2)]),
    ...audits.map(({ who, why, at: when, action }) => `${when}  ${action} by ${who}: ${why}`),
  ];
  return `${lines.join('\n')}\n`;
}

const usage = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
