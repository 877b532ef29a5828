/**
 * `troupe a2a`: agents outside in the configuration file (`tools.a2a.agents`). Files and the agents
 * only, without a running troupe.
 *
 * Invariant: a token is never an argument, and the file gets a reference to it.
 */
import { resolve } from 'node:path';
import { aboutCard } from '../../agent/agent2agent/card.ts';
import { noCardStore } from '../../agent/agent2agent/card-store.ts';
import { type KnownCard, NO_KEY, RemoteAgents } from '../../agent/agent2agent/directory.ts';
import { ConfigFile } from '../../installation/setup/config-file.ts';
import { table } from '../../operations/text.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { RemoteAgentConfig } from '../../runtime/config/index.ts';
import { resolveSecret, type SecretReference } from '../../runtime/config/secret.ts';
import { systemClock } from '../../runtime/index.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { formerFile, printJson } from '../output.ts';

export type AddOptions = CommonOptions & {
  readonly bearerEnv?: string;
  readonly bearerFile?: string;
  readonly allowPrivate?: boolean;
  readonly requireSignature?: boolean;
  readonly legacy?: boolean;
  readonly yes?: boolean;
};

type Agents = Readonly<Record<string, RemoteAgentConfig>>;

const CARD_MS = 30_000;

/**
 * @throws TroupeError CONFLICT when the name is taken; INVALID_ARGUMENT when it is not confirmed;
 *   what reading the card throws
 */
export async function add(name: string, url: string, options: AddOptions): Promise<number> {
  const { config, file } = await loadFrom(options);
  if (Object.hasOwn(config.tools.a2a.agents, name))
    throw new TroupeError(
      'CONFLICT',
      `there is an agent ${name} already: troupe a2a remove ${name}`,
    );
  const bearer = referenceIn(options);
  const { allowPrivate = false, requireSignature = false, legacy = false } = options;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new TroupeError('INVALID_ARGUMENT', `${JSON.stringify(url)} is not an http or https URL`);
  const agent: RemoteAgentConfig = {
    url,
    allowPrivate,
    requireSignature,
    legacy,
    ...UNSET,
    ...(bearer && { bearer: secretOf(bearer) }),
  };
  const known = await cardOf(name, { [name]: agent });
  const about = aboutCard(known.card);
  const [key] = known.signers;
  await confirm(`${shown(known)}\n\nLet agents send messages to it?`, options);
  const written = {
    url,
    about,
    ...defined({ bearer, key }),
    ...(allowPrivate && { allowPrivate }),
    ...(requireSignature && { requireSignature }),
    ...(legacy && { legacy }),
  };
  const target = new ConfigFile({ file, home: config.home });
  const { backup } = await target.merge({ tools: { a2a: { agents: { [name]: written } } } });
  if (options.json) printJson({ name, url, about, ...defined({ key }), file: target.path, backup });
  else
    changed(
      `${options.yes ? `${shown(known)}\n\n` : ''}${name} is added to ${target.path}.`,
      backup,
    );
  return exitCodes.ok;
}

export async function list(options: CommonOptions): Promise<number> {
  const { agents } = (await loadFrom(options)).config.tools.a2a;
  const rows = Object.entries(agents).map(([name, { url, about, key }]) => ({
    name,
    url,
    ...defined({ about, key }),
  }));
  if (options.json) printJson({ agents: rows });
  else if (rows.length === 0)
    process.stdout.write('no agents outside; add one: troupe a2a add NAME URL\n');
  else {
    const cells = rows.map(({ name, url, key = '', about = '' }) => [
      name,
      url,
      key.slice(0, 12),
      plainName(about, 60),
    ]);
    process.stdout.write(table(['agent', 'url', 'key', 'about'], cells));
  }
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND; what reading the card throws */
export async function card(name: string, options: CommonOptions): Promise<number> {
  const known = await cardOf(name, (await loadFrom(options)).config.tools.a2a.agents);
  if (options.json) {
    const { card: read, signers, interface: chosen } = known;
    printJson({ name, card: read, signers, interface: chosen, ...defined({ key: known.key }) });
  } else process.stdout.write(`${shown(known)}\n`);
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND, INVALID_ARGUMENT; what reading the card throws */
export async function trust(
  name: string,
  options: CommonOptions & { readonly yes?: boolean },
): Promise<number> {
  const { config, file } = await loadFrom(options);
  const { agents } = config.tools.a2a;
  const { key: before, ...agent } = entryOf(agents, name);
  const known = await cardOf(name, { [name]: agent });
  const key = known.signers[0] ?? NO_KEY;
  const question = `${shown(known)}\nkey before: ${before ?? 'none'}\n\nAccept this key?`;
  await confirm(question, options);
  const target = new ConfigFile({ file, home: config.home });
  const entry = { key, about: aboutCard(known.card) };
  const { backup } = await target.merge({ tools: { a2a: { agents: { [name]: entry } } } });
  if (options.json) printJson({ name, key, ...defined({ before, backup }) });
  else changed(`${name} is accepted with ${keyText(known)}.`, backup);
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND */
export async function remove(name: string, options: CommonOptions): Promise<number> {
  const { config, file } = await loadFrom(options);
  entryOf(config.tools.a2a.agents, name);
  const target = new ConfigFile({ file, home: config.home });
  const { backup } = await target.merge({ tools: { a2a: { agents: { [name]: null } } } });
  if (options.json) printJson({ name, backup });
  else changed(`${name} is removed.`, backup);
  return exitCodes.ok;
}

/** What a new entry has without options. */
const UNSET = {
  headers: {},
  keyOrigins: [],
  origins: [],
  approval: 'ask',
  timeoutSeconds: 600,
} as const;

const entryOf = (agents: Agents, name: string): RemoteAgentConfig =>
  directoryOf(agents).configOf(name);

const directoryOf = (agents: Agents): RemoteAgents =>
  new RemoteAgents({ agents, store: noCardStore, clock: systemClock });

const cardOf = (name: string, agents: Agents): Promise<KnownCard> =>
  directoryOf(agents).card(name, AbortSignal.timeout(CARD_MS));

/** @throws TroupeError INVALID_ARGUMENT */
function referenceIn({ bearerEnv, bearerFile }: AddOptions): SecretReference | undefined {
  if (bearerEnv !== undefined && bearerFile !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', 'use one of --bearer-env and --bearer-file');
  if (bearerEnv !== undefined) return { env: bearerEnv };
  return bearerFile === undefined ? undefined : { file: resolve(bearerFile) };
}

/** @throws TroupeError INVALID_ARGUMENT */
function secretOf(reference: SecretReference) {
  const resolved = resolveSecret(reference, { env: process.env, resolvePath: resolve });
  if ('secret' in resolved) return resolved.secret;
  throw new TroupeError('INVALID_ARGUMENT', `there is no token: ${resolved.failure}`);
}

const shown = (known: KnownCard): string => {
  const { card: read, interface: chosen } = known;
  return [
    aboutCard(read),
    `version:    ${plainName(read.version, 60)}`,
    `interface:  ${plainName(chosen.url, 200)} (${plainName(chosen.protocolBinding, 20)})`,
    `signature:  ${keyText(known)}`,
  ].join('\n');
};

const keyText = ({ signers }: KnownCard): string =>
  signers.length === 0
    ? 'none: anyone who answers for its host could have written the card'
    : `the key ${signers.join(', ')}`;

const changed = (text: string, backup: string | undefined): void => {
  process.stdout.write(`${text}\nThis applies at the next start.${formerFile(backup)}\n`);
};
