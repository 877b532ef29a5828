/**
 * `troupe channels add` and `remove`: accounts of messengers in the configuration file, without a
 * running troupe. A secret is never written as text: the file has a reference to it.
 */
import { createInterface } from 'node:readline/promises';
import { ConfigFile } from '../../installation/setup/config-file.ts';
import { type AccountRef, accountKey } from '../../protocols/channel.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { valueAt } from '../../runtime/config/pointer.ts';
import {
  type AccountField,
  accountFields,
  BUILT_IN_CHANNELS,
} from '../../runtime/config/schema/channels.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { formerFile, printJson } from '../output.ts';

export type AccountOptions = Pick<CommonOptions, 'config' | 'data' | 'json'> & {
  readonly account: string;
};

/** Values as typed, by setting. */
type Given = Readonly<Record<string, string>>;

/** Asks a person at the terminal; undefined: there is none. */
type Asks = ((question: string) => Promise<string>) | undefined;

/**
 * Adds an account. At a terminal it asks for the channel and for required settings that are not
 * given.
 * @throws TroupeError INVALID_ARGUMENT for a wrong or missing setting; CONFLICT when the account
 *   exists
 */
export async function add(
  named: string | undefined,
  given: Given,
  options: AccountOptions,
): Promise<number> {
  const { asks, end } = questions(options);
  try {
    const channel = named ?? (await asked(asks, `Channel (${BUILT_IN_CHANNELS.join(', ')})`));
    const settings = await settingsOf(channel, given, asks);
    return await write(channel, settings, options);
  } finally {
    end();
  }
}

/** @throws TroupeError NOT_FOUND */
export async function remove(channel: string, options: AccountOptions): Promise<number> {
  const ref = { channel, account: options.account };
  const file = await configFile(options);
  const { backup } = await file.merge(patchOf(ref, null), (before) => {
    if (!isIn(before, ref))
      throw new TroupeError('NOT_FOUND', `${accountKey(ref)} is not in ${file.path}`);
  });
  if (options.json) printJson({ ...ref, file: file.path, backup });
  else
    process.stdout.write(
      `${accountKey(ref)} is no longer in ${file.path}. A running troupe disconnects it at its next start.\n` +
        `Its approved senders, sessions and dead letters are kept.${formerFile(backup)}\n`,
    );
  return exitCodes.ok;
}

async function write(channel: string, settings: object, options: AccountOptions): Promise<number> {
  const ref = { channel, account: options.account };
  const file = await configFile(options);
  const { backup } = await file.merge(patchOf(ref, settings), (before) => {
    if (!isIn(before, ref)) return;
    throw new TroupeError(
      'CONFLICT',
      `${accountKey(ref)} is in ${file.path} already: change it there, or choose another --account`,
    );
  });
  if (options.json) printJson({ ...ref, file: file.path, backup });
  else process.stdout.write(`${nextSteps(ref, settings, file.path)}${formerFile(backup)}\n`);
  return exitCodes.ok;
}

const configFile = async (options: AccountOptions): Promise<ConfigFile> => {
  const { config, file } = await loadFrom(options);
  return new ConfigFile({ file, home: config.home });
};

/** @param account null: removes it */
const patchOf = ({ channel, account: name }: AccountRef, account: object | null) => ({
  channels: { [channel]: { accounts: { [name]: account } } },
});

const isIn = (document: object, { channel, account }: AccountRef): boolean =>
  valueAt(document, `/channels/${channel}/accounts/${account}`) !== undefined;

// ---- settings

/** As the configuration file has them. @throws TroupeError INVALID_ARGUMENT */
async function settingsOf(
  channel: string,
  given: Given,
  asks: Asks,
): Promise<Readonly<Record<string, unknown>>> {
  const fields = accountFields(channel);
  if (fields.length === 0)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `there is no channel ${channel}; there are ${BUILT_IN_CHANNELS.join(', ')}`,
    );
  const unknown = Object.keys(given).find((name) => !fields.some((field) => field.name === name));
  if (unknown !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', `accounts of ${channel} have no ${unknown}`);
  const settings: Record<string, unknown> = {};
  for (const field of fields) {
    const text = given[field.name] ?? (field.isRequired ? await asked(asks, question(field)) : '');
    if (text !== '') settings[field.name] = field.isSecret ? referenceOf(field, text) : text;
  }
  return settings;
}

const question = ({ name, description, isSecret }: AccountField): string =>
  `${name}: ${description}${isSecret ? ' (env:NAME or file:PATH)' : ''}`;

/** @throws TroupeError INVALID_ARGUMENT for a secret as text, which is not repeated */
function referenceOf({ name }: AccountField, text: string): object {
  const [, kind, rest] = /^(env|file):(.+)$/.exec(text) ?? [];
  if (kind !== undefined && rest !== undefined) return { [kind]: rest };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${name}: write env:NAME or file:PATH, so that the configuration file has no secret`,
  );
}

/** @throws TroupeError INVALID_ARGUMENT without a terminal or an answer */
async function asked(asks: Asks, text: string): Promise<string> {
  const answer = (await asks?.(text))?.trim() ?? '';
  if (answer !== '') return answer;
  throw new TroupeError('INVALID_ARGUMENT', `missing: ${text}`);
}

function questions({ json }: AccountOptions): { readonly asks: Asks; readonly end: () => void } {
  if (json || !process.stdin.isTTY) return { asks: undefined, end: () => {} };
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  return {
    asks: (text) => Promise.race([lines.question(`${text}: `), closed]),
    end: () => lines.close(),
  };
}

// ---- text

function nextSteps({ channel, account }: AccountRef, settings: object, path: string): string {
  const receives = receivesRequests(channel, settings)
    ? `The service sends requests to https://YOUR-HOST/hooks/${channel}/${account}.\n`
    : '';
  const admits = sendsNothing(channel, settings)
    ? 'Without `url` it sends nothing, so no code either: set `allowFrom` or `dmPolicy` in the file.\n'
    : 'A person who writes to it receives a code. Approve the person with `troupe pairing approve CODE`.\n';
  return (
    `${channel}:${account} is in ${path}. Start troupe again to connect it.\n${receives}${admits}` +
    `\`troupe channels\` shows its state. What to set at the service: docs/channels/${channel}.md`
  );
}

const sendsNothing = (channel: string, settings: object): boolean =>
  channel === 'webhook' && !Object.hasOwn(settings, 'url');

const receivesRequests = (channel: string, settings: object): boolean =>
  channel === 'whatsapp' ||
  channel === 'webhook' ||
  Object.hasOwn(settings, 'webhookUrl') ||
  Object.hasOwn(settings, 'signingSecret');
