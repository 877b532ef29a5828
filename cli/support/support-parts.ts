/**
 * The parts of a support bundle: one file each, about the program and its machine. Nothing of a
 * conversation: no message, transcript, note, prompt, or name of a session.
 *
 * Every part reads, writes nothing, and may fail by itself: its file then contains the reason.
 * Parts `ofRunning` ask the gateway of the data folder; without one they say so.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { arch, availableParallelism, freemem, loadavg, release, totalmem, uptime } from 'node:os';
import { join } from 'node:path';
import { readBackupNotes } from '../../installation/backup-parts.ts';
import { measuredDisks } from '../../installation/disk/disk-space.ts';
import { runningGateway } from '../../installation/running-gateway.ts';
import type { TroupeError } from '../../protocols/errors.ts';
import { listBackups } from '../../runtime/backup/folder.ts';
import { type Config, type LoadedConfig, nodeName } from '../../runtime/config/index.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { examine } from '../doctor/doctor.ts';
import { type CommonOptions, gatewayOf, originOf, withGateway } from '../options.ts';
import { exchange } from '../client/gateway-http.ts';
import { version } from '../version.ts';

export type SupportInput = {
  /** without the file if it is invalid */
  readonly loaded: LoadedConfig;
  readonly options: CommonOptions;
  /** why the configuration is invalid */
  readonly invalid?: TroupeError;
};

export type SupportPart = {
  readonly file: string;
  readonly what: string;
  /** needs the gateway of this data folder */
  readonly ofRunning?: true;
  read(this: void, input: SupportInput): unknown;
};

const LOG_LINES = 2_000;
/** How long a cluster may take to connect. */
const CLUSTER_MS = 10_000;

export const SUPPORT_PARTS: readonly SupportPart[] = [
  {
    file: 'versions.json',
    what: 'versions of troupe, Node and the system; format of the data; memory and load',
    read: ({ loaded: { config } }) => versions(config),
  },
  {
    file: 'configuration.json',
    what: 'the configuration without secrets, arguments and long texts, and where values come from; or its problems',
    read: ({ loaded: { config, sources, file }, invalid }) =>
      invalid?.toData() ?? { file, sources, config: withoutTexts(config) },
  },
  {
    file: 'environment.json',
    what: 'names of environment variables, no values',
    read: () => Object.keys(process.env).toSorted(),
  },
  {
    file: 'doctor.json',
    what: 'what troupe doctor finds',
    read: async ({ options: { ignoresFile: _, ...given } }) => {
      const found: unknown[] = [];
      for await (const finding of examine(given)) found.push(finding);
      return found;
    },
  },
  { file: 'sizes.json', what: 'sizes of the folders with data, free space', read: sizes },
  {
    file: 'backup.json',
    what: 'the last backup, the newest verified one, and what is in the folder of backups',
    read: ({ loaded: { config } }) => backups(config),
  },
  {
    file: 'upgrade.json',
    what: 'formats and versions of all processes, as troupe upgrade status',
    read: async ({ options }) => {
      const { readUpgradeStatus } = await import('../upgrade/upgrade.ts');
      return readUpgradeStatus(options, AbortSignal.timeout(CLUSTER_MS));
    },
  },
  {
    file: 'logs.jsonl',
    what: `the last ${LOG_LINES} lines of the running process`,
    ofRunning: true,
    read: logs,
  },
  {
    file: 'metrics.txt',
    what: 'the metrics of the running process',
    ofRunning: true,
    read: ({ loaded: { config }, options }) => metrics(config, options),
  },
  {
    file: 'readiness.json',
    what: 'whether the gateway is ready, its clocks and disks',
    ofRunning: true,
    read: async ({ loaded: { config }, options }) =>
      (await exchange(`${await originOf(config, options)}/readyz`, {})).text,
  },
  {
    file: 'cluster.json',
    what: 'processes, shards, disks, alarms by kind',
    ofRunning: true,
    read: async ({ options }) => {
      const get = await gatewayHttp(options);
      const { alarms, ...cluster } = await get<Cluster>({ method: 'GET', path: '/v1/cluster' });
      return { ...cluster, alarms: alarms.length };
    },
  },
  {
    file: 'settings.json',
    what: 'keys that wait for a restart, problems of the file, settings of the cluster',
    ofRunning: true,
    read: async ({ options }) =>
      (await gatewayHttp(options))({ method: 'GET', path: '/v1/settings' }),
  },
  {
    file: 'dead-letters.json',
    what: 'dead letters: domain, position, time, code and kind; no content',
    ofRunning: true,
    read: deadLetters,
  },
];

type Cluster = Readonly<Record<string, unknown>> & { readonly alarms: readonly unknown[] };

const versions = async (config: Config) => ({
  troupe: version,
  node: process.version,
  engines: process.versions,
  system: `${process.platform} ${arch()} ${release()}`,
  name: nodeName(config),
  storeFormat: (await import('../../runtime/log/embedded-store.ts')).FORMAT_VERSION,
  at: new Date().toISOString(),
  uptimeSeconds: Math.round(uptime()),
  cores: availableParallelism(),
  memory: { totalBytes: totalmem(), freeBytes: freemem() },
  load: loadavg(),
});

/** Keys whose values may contain secrets or texts of people. */
const LEFT_OUT = /^(args|env|headers|command|purpose|prompt|instructions|system|text|message)$/i;
const TEXT_CHARACTERS_MAX = 200;

/** Secrets are `***` already. */
function withoutTexts(config: Config): unknown {
  const plain: unknown = JSON.parse(JSON.stringify(config));
  return JSON.parse(
    JSON.stringify(plain, (key, value: unknown) => {
      if (LEFT_OUT.test(key) && value !== null && typeof value === 'object')
        return `[${Object.keys(value).length} values]`;
      const isLong = typeof value === 'string' && value.length > TEXT_CHARACTERS_MAX;
      const isText = typeof value === 'string' && LEFT_OUT.test(key);
      return isLong || isText ? `[${value.length} characters]` : value;
    }),
  );
}

function sizes({ loaded: { config } }: SupportInput): unknown {
  const folders = Object.fromEntries(
    readdirSync(config.home, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => [name, sizeOf(join(config.home, name))]),
  );
  return { home: config.home, folders, disks: measuredDisks(config) };
}

async function backups(config: Config): Promise<unknown> {
  const notes = readBackupNotes(config);
  const { to } = notes;
  if (to === undefined || !existsSync(to)) return { ...notes, inFolder: [] };
  return { ...notes, inFolder: statSync(to).isDirectory() ? await listBackups(to) : [] };
}

/** Counts only, because names of files may be names of people. */
function sizeOf(folder: string): { files: number; bytes: number } {
  const total = { files: 0, bytes: 0 };
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    total.files++;
    total.bytes +=
      statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return total;
}

/** Of each line the time, the level and the message; facts may name sessions. */
async function logs({ options }: SupportInput): Promise<string> {
  const { lines } = await withGateway(options, (client) =>
    client.request('logs.tail', { limit: LOG_LINES }),
  );
  return lines.map((line) => `${withoutFacts(line)}\n`).join('');
}

function withoutFacts(line: string): string {
  try {
    const { time, level, message } = JSON.parse(line) as Record<string, unknown>;
    const [text = ''] = String(message).split(' {"', 1);
    return JSON.stringify({ time, level, message: text });
  } catch {
    return '[a line in another form]';
  }
}

async function metrics(config: Config, options: CommonOptions): Promise<string> {
  const { token } = await gatewayOf(options);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const origin = await originOf(config, options);
  const { status, text } = await exchange(`${origin}/metrics`, { headers });
  if (status !== 200) throw new Error(`/metrics answers ${status}`);
  return text;
}

type Letter = {
  readonly domain: string;
  readonly position: number;
  readonly at: number;
  readonly reason: string;
  readonly error?: { readonly code?: string };
  readonly to?: string;
};

async function deadLetters({ options }: SupportInput): Promise<unknown> {
  const get = await gatewayHttp(options);
  const found = await get<{ dead_letters: readonly Letter[] }>({
    method: 'GET',
    path: '/v1/dead-letters',
  });
  return found.dead_letters.map(({ domain, position, at, reason, error, to }) => ({
    domain,
    position,
    at,
    reason: reason.slice(0, 40),
    code: error?.code,
    kind: to?.split('/')[1],
  }));
}

export const isRunning = (config: Config): boolean => runningGateway(config.home) !== undefined;
