/**
 * The streams of a cell on JetStream. Absent streams are created; existing ones are checked,
 * because the guarantees of the log depend on their configuration.
 *
 *   mail     mbx.{env}.>                             mailboxes: many writers, trimmed often
 *   journal  jrn.{env}.>                             journals: fenced appends
 *   kept     trn.{env}.>  cell.{env}  a2a.*.{env}.dlq  never trimmed together with a shard
 *   history  hst.{env}.>                             what actors did
 *   blobs    blb.{env}.>                             snapshots and large payloads
 *
 * There are several streams because a purge blocks its stream: trimming mail must not delay
 * journals. With replicas, each stream also has its own leader.
 */
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { cellSubject, escapeToken, subjectMatches } from '../../protocols/subjects.ts';
import { decodeCell } from '../cell-record.ts';
import { systemClock } from '../clock/clock.ts';
import { inTime } from '../clock/in-time.ts';
import { isNoResponders } from '../log/nats-errors.ts';
import { checkServer } from './nats-server-version.ts';
import { pause, repeated } from './pause.ts';

export type StreamsOptions = {
  readonly env: string;
  /** copies of every stream, on as many servers; default 1 */
  readonly replicas?: number;
  /** bytes each new stream may hold; default no limit but the server's own */
  readonly maxBytes?: number;
  /** false: use only existing streams; default true */
  readonly create?: boolean;
  /** receives the reason for a wait, at most once in ten seconds */
  readonly onStatus?: (what: string) => void;
  /** ends the wait for JetStream to be ready */
  readonly signal?: AbortSignal;
};

export type Streams = {
  readonly mail: string;
  readonly journal: string;
  readonly kept: string;
  readonly history: string;
  readonly blobs: string;
  /** name of the stream with a subject; undefined for a subject outside this cell */
  streamOf(subject: string): string | undefined;
  /** whether a trim overwrites what it removes: the stream keeps entries of others beside it */
  isOverwritten(stream: string): boolean;
};

/** Without `%`: 2.9 uses a stream's name as a printf format when it creates delivery subjects. */
const streamName = (token: string, kind: string): string =>
  `troupe-${token.replaceAll('%', '=')}-${kind}`;

const IMPORT_POLL_MS = 100;
const API_TIMEOUT_MS = 2_000;
/** Timeout of two consecutive requests. */
const ANSWERED_WITHIN_MS = 6_000;
const DUPLICATES_NANOS = 120 * 1e9;
/**
 * The name is in use (10058). When two processes create a stream at once, 2.9 may answer one of
 * them that its subjects overlap (10065): with those of that same stream.
 */
const IS_THERE: ReadonlySet<number> = new Set([10_058, 10_065]);

/**
 * Creates or checks the streams. Waits while JetStream is not ready; any number of processes may
 * call it concurrently.
 * @throws TroupeError INVALID_ARGUMENT when the server or a stream cannot give the guarantees of
 * the log; NOT_FOUND when a stream is missing and may not be created;
 * CANCELLED when `signal` ends the wait
 */
export async function openStreams(nc: NatsConnection, options: StreamsOptions): Promise<Streams> {
  const { replicas = 1, maxBytes = -1 } = options;
  await whenReady(nc, '', options, async () => checkServer(nc, replicas));
  const manager = await jetstreamManager(nc, { timeout: API_TIMEOUT_MS, checkAPI: false });
  const token = escapeToken(options.env);
  const name = (kind: string) => streamName(token, kind);
  const subjects = {
    mail: [`mbx.${token}.>`],
    journal: [`jrn.${token}.>`],
    kept: [`trn.${token}.>`, cellSubject(options.env), `a2a.*.${token}.dlq`],
    history: [`hst.${token}.>`],
    blobs: [`blb.${token}.>`],
  };
  for (const [kind, patterns] of Object.entries(subjects)) {
    // A cell that only older programs have opened has no history.
    if (kind === 'history' && options.create === false) continue;
    const wanted = { ...PROMISES, name: name(kind), subjects: patterns };
    const config = { ...wanted, max_bytes: maxBytes, num_replicas: replicas };
    await whenReady(nc, config.name, options, () => openStream(manager, config, options));
  }
  const names = {
    mail: name('mail'),
    journal: name('journal'),
    kept: name('kept'),
    history: name('history'),
  };
  return {
    ...names,
    blobs: name('blobs'),
    isOverwritten: (stream) => stream === names.kept || stream === names.history,
    streamOf: (subject) => {
      for (const kind of ['mail', 'journal', 'kept', 'history'] as const)
        if (subjects[kind].some((pattern) => subjectMatches(pattern, subject))) return names[kind];
      return undefined;
    },
  };
}

/**
 * The configuration with which a stream removes messages only by our own trims, and refuses none.
 */
const PROMISES = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_msg_size: -1,
  no_ack: false,
  sealed: false,
  deny_purge: false,
  allow_direct: false,
  duplicate_window: DUPLICATES_NANOS,
} satisfies Partial<StreamConfig>;

/**
 * Fields of an existing stream that must not differ, because a guarantee depends on them; the
 * others may be tuned.
 */
const FIRM = [
  'storage',
  'retention',
  'discard',
  'max_age',
  'max_msgs_per_subject',
  'max_msg_size',
  'no_ack',
  'sealed',
  'deny_purge',
] as const;

/** Fields that must be absent, so that the stream stores exactly what this cell sends. */
const ABSENT = ['mirror', 'sources', 'subject_transform'] as const;

type Wanted = typeof PROMISES & Pick<StreamConfig, 'name' | 'subjects' | 'num_replicas'>;

async function openStream(
  manager: JetStreamManager,
  wanted: Wanted,
  { env, create = true }: StreamsOptions,
): Promise<void> {
  if (!create) return findStream(manager, wanted, env);
  try {
    const { config } = await manager.streams.add(wanted);
    checkStream(config, wanted);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || !IS_THERE.has(error.code)) throw error;
    const found = await manager.streams.info(wanted.name).catch((cause: unknown) => {
      throw isApiError(cause, JetStreamApiCodes.StreamNotFound) ? error : cause;
    });
    checkStream(found.config, wanted);
  }
}

async function findStream(manager: JetStreamManager, wanted: Wanted, env: string): Promise<void> {
  try {
    const { config } = await manager.streams.info(wanted.name);
    checkStream(config, { ...wanted, num_replicas: config.num_replicas });
  } catch (error) {
    if (isApiError(error, JetStreamApiCodes.StreamNotFound)) throw noCluster(env, error);
    throw error;
  }
}

/** The error for readers: this cluster was never started. */
export const noCluster = (env: string, cause?: unknown): TroupeError =>
  new TroupeError('NOT_FOUND', `there is no cluster ${env} on these NATS servers`, { cause });

function checkStream(config: StreamConfig, wanted: Wanted): void {
  const wrong: string[] = FIRM.filter((field) => (config[field] ?? false) !== wanted[field]).map(
    (field) => `${field} is ${text(config[field])}, it must be ${text(wanted[field])}`,
  );
  for (const field of ABSENT) {
    const value: unknown = config[field];
    if (value !== undefined && (!Array.isArray(value) || value.length > 0))
      wrong.push(`${field} is ${text(value)}, it must not be set`);
  }
  if (text([...config.subjects].sort()) !== text([...wanted.subjects].sort()))
    wrong.push(`subjects are ${text(config.subjects)}, they must be ${text(wanted.subjects)}`);
  if (config.num_replicas < wanted.num_replicas)
    wrong.push(`num_replicas is ${config.num_replicas}, ${wanted.num_replicas} are required`);
  if (wrong.length === 0) return;
  throw refused(
    `the stream ${config.name} cannot be used: ${wrong.join('; ')}. ` +
      'Correct it (nats stream edit), or choose another env.',
    { stream: config.name },
  );
}

/**
 * Resolves when no import into the cell is under way, as far as can be seen. An import that is
 * restarted deletes streams and creates them again, and servers before 2.10 lose entries of a
 * stream that two processes create at once.
 * @throws TroupeError CANCELLED when `signal` ends the wait
 */
export async function importEnded(
  nc: NatsConnection,
  { env, onStatus, signal }: Pick<StreamsOptions, 'env' | 'onStatus' | 'signal'>,
): Promise<void> {
  const manager = await jetstreamManager(nc, { timeout: API_TIMEOUT_MS, checkAPI: false });
  const kept = streamName(escapeToken(env), 'kept');
  let isReported = false;
  while (await isImporting(manager, kept, env)) {
    if (!isReported) onStatus?.(`waiting for the cell ${env}: an import is under way`);
    isReported = true;
    await pause(IMPORT_POLL_MS, signal);
  }
}

/** False also where the record cannot be read: the code that opens the cell reports why. */
async function isImporting(
  manager: JetStreamManager,
  stream: string,
  env: string,
): Promise<boolean> {
  try {
    const last = await manager.streams.getMessage(stream, { last_by_subj: cellSubject(env) });
    if (!last) return false;
    const entry = { position: last.seq, logTimeMs: 0, bytes: last.data };
    return decodeCell<{ importing?: boolean }>(entry).importing === true;
  } catch {
    return false;
  }
}

/** Repeats the request while JetStream is not available or not ready. */
const whenReady = (
  nc: NatsConnection,
  stream: string,
  options: StreamsOptions,
  ask: () => Promise<void>,
): Promise<void> =>
  repeated(
    () => answered(ask()),
    (error) => `waiting for JetStream: ${reasonToWait(nc, stream, error)}`,
    options,
  );

/** Also repeats a request that the client dropped when its connection broke. */
const answered = <T>(asked: Promise<T>): Promise<T> =>
  inTime(systemClock, asked, ANSWERED_WITHIN_MS, () => {
    throw new Error('it does not answer');
  });

/** @throws errors that waiting cannot resolve */
function reasonToWait(nc: NatsConnection, stream: string, error: unknown): string {
  if (error instanceof TroupeError) throw error;
  const message = error instanceof Error ? error.message : String(error);
  if (nc.isClosed())
    throw new TroupeError('UNAVAILABLE', 'the connection to NATS is closed', { cause: error });
  if (isNoResponders(error)) {
    if (nc.info?.jetstream !== true)
      throw refused('the NATS server has no JetStream: start it with -js, or set jetstream {}');
    return 'the server is starting';
  }
  if (isApiError(error, JetStreamApiCodes.JetStreamNotEnabledForAccount))
    throw refused('JetStream is not enabled for the account of this NATS user');
  if (!(error instanceof JetStreamApiError) || NOT_YET.has(error.code)) return message;
  throw refused(`JetStream refuses the stream ${stream}: ${message}`, { stream }, error);
}

/**
 * The errors of a cluster whose servers have not found each other: no suitable peers (10005),
 * temporarily unavailable (10008), not ready (10009), no leader (10010).
 */
const NOT_YET: ReadonlySet<number> = new Set([10_005, 10_008, 10_009, 10_010]);

const isApiError = (error: unknown, code: number): boolean => {
  const found = error instanceof JetStreamApiError ? error : (error as { cause?: unknown }).cause;
  return found instanceof JetStreamApiError && found.code === code;
};

const refused = (why: string, details?: Record<string, unknown>, cause?: unknown): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', why, { ...defined({ details }), cause });

const text = (value: unknown): string => JSON.stringify(value) ?? 'absent';
