/**
 * The oracle: OpenClaw's published protocol document and the validator that its own package uses,
 * to check our frames. The validator is resolved through that package.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Definition = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};
type Document = {
  readonly definitions: Readonly<Record<string, Definition>>;
  readonly methods: Readonly<Record<string, { readonly scope: string }>>;
};
type Validator = {
  Check(schema: object, value: unknown): boolean;
  Errors(schema: object, value: unknown): unknown;
};

const here = createRequire(import.meta.url);
const packagePath = here.resolve('@openclaw/gateway-protocol');
export const document = here(join(dirname(packagePath), '../protocol.schema.json')) as Document;

const theirs = createRequire(packagePath).resolve('typebox/schema');
export const validator = (await import(pathToFileURL(theirs).href)) as Validator;

export const definition = (name: string): Definition => {
  const found = document.definitions[name];
  if (found === undefined) throw new Error(`the published document has no definition ${name}`);
  return found;
};

/** The errors of the published schema for the value; undefined when it is valid. */
export const publishedComplaint = (name: string, value: unknown): string | undefined =>
  validator.Check(definition(name), value)
    ? undefined
    : `${name}: ${JSON.stringify(validator.Errors(definition(name), value))}`;

/**
 * Results whose definition has another name than its method. Rows of a list are checked one by one.
 */
const RESULTS: Readonly<Record<string, string>> = {
  connect: 'HelloOk',
  'agent.identity.get': 'AgentIdentityResult',
  'sessions.viewers.set': 'SessionsViewerPresenceSetResult',
  'sessions.groups.put': 'SessionsGroupsMutationResult',
  'sessions.groups.rename': 'SessionsGroupsMutationResult',
  'sessions.groups.delete': 'SessionsGroupsMutationResult',
  'tasks.retry': 'TasksRecoveryResult',
  'tasks.dismiss': 'TasksRecoveryResult',
};
/** Results without a definition whose rows have one: the path of the rows, and their definition. */
const ROWS: Readonly<Record<string, readonly [path: string, definition: string]>> = {
  'sessions.list': ['sessions', 'SessionRow'],
  'sessions.describe': ['session', 'SessionRow'],
  'system-presence': ['', 'PresenceEntry'],
  presence: ['presence', 'PresenceEntry'],
  'cron.list': ['jobs', 'CronJob'],
  'cron.runs': ['entries', 'CronRunLogEntry'],
};

/** `sessions.list` is published as `SessionsList…`. */
const nameOf = (wire: string, ending: 'Result' | 'Event'): string =>
  wire.replace(/(?:^|[.-])([a-z])/gi, (_, letter: string) => letter.toUpperCase()) + ending;

/**
 * The errors of the published schemas for a result or an event's payload; undefined when it is
 * valid or has no definition. Definitions are found by name, so that a new method is checked
 * automatically.
 */
export const payloadComplaint = (
  wire: string,
  ending: 'Result' | 'Event',
  payload: unknown,
): string | undefined => {
  if (wire === 'agent' && ending === 'Event') return agentComplaint(payload as object);
  const name = (ending === 'Result' ? RESULTS[wire] : undefined) ?? nameOf(wire, ending);
  if (document.definitions[name] !== undefined) return publishedComplaint(name, payload);
  const rows = ROWS[wire];
  if (rows === undefined) return undefined;
  const [path, each] = rows;
  const found = path === '' ? payload : (payload as Record<string, unknown>)[path];
  if (found === null) return undefined;
  return [found ?? []]
    .flat()
    .map((value) => publishedComplaint(each, value))
    .find(Boolean);
};

/** OpenClaw sends, and its clients read, three fields that its own closed schema lacks. */
const agentComplaint = (payload: object): string | undefined => {
  const {
    sessionKey: _,
    sessionId: __,
    agentId: ___,
    ...rest
  } = payload as Record<string, unknown>;
  return publishedComplaint('AgentEvent', rest);
};
