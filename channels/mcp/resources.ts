/**
 * What a caller may read, as resources: of an operator the sessions of the tenant and the notes of
 * its agents; of every caller its tasks, and the evidence about a job.
 */
import type { CompleteRequestParams, ReadResourceResult } from '@modelcontextprotocol/server';
import type { OperationServices } from '../../operations/operation.ts';
import { address } from '../../protocols/address.ts';
import type { SessionsListResult } from '../../protocols/gateway/index.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { Edge } from '../edge/edge.ts';
import type { ClientFeatures, McpCaller, McpPrompt, McpResources } from './catalog.ts';
import { contentsOf } from './contents.ts';
import { readOperation } from './operation-tools.ts';
import { isSkillUri, SKILL_TEMPLATE, type SkillResources } from './skills.ts';
import { readTaskApp, TASK_APP } from './task-app.ts';

/** Sessions of one page of the list. */
const PAGE = 100;
/** Of a transcript, its newest part. */
const TRANSCRIPT_ENTRIES_MAX = 2_000;
const TRANSCRIPT_BYTES_MAX = 1_048_576;
const SESSION = 'troupe://sessions/';
const NOTE = 'troupe://memory/';
const TASK = 'troupe://tasks/';
const EVIDENCE = 'troupe://evidence/';

export type ResourceOptions = {
  readonly services: OperationServices;
  readonly edge: Pick<Edge, 'task'>;
  /** the findings of verifiers about a job. @throws TroupeError NOT_FOUND */
  readonly evidence: (caller: McpCaller, jobId: string) => Promise<object>;
  /** undefined: the caller sees none */
  readonly skills: (caller: McpCaller) => SkillResources | undefined;
  /** the page of the view of tasks; undefined: there is none */
  readonly taskApp?: (() => Promise<string>) | undefined;
};

export const sessionUri = (key: string): string => `${SESSION}${encodeURIComponent(key)}`;

const FOR_OPERATORS = [
  {
    name: 'session',
    uriTemplate: `${SESSION}{key}`,
    description: 'The transcript of a session, one entry per line as JSON',
    mimeType: 'application/x-ndjson',
  },
  {
    name: 'note',
    uriTemplate: `${NOTE}{agent}/{+path}`,
    description: 'A note of an agent: MEMORY.md, or a file below memory/',
    mimeType: 'text/markdown',
  },
];
const FOR_ALL = [
  {
    name: 'task',
    uriTemplate: `${TASK}{task_id}`,
    description: 'A task: its state, its events, its result or error',
    mimeType: 'application/json',
  },
  {
    name: 'evidence',
    uriTemplate: `${EVIDENCE}{job_id}`,
    description: 'The findings of verifiers about a job, with URLs of their files',
    mimeType: 'application/json',
  },
];

export const resourcesOf = (options: ResourceOptions, caller: () => McpCaller): McpResources => ({
  list: (cursor) => list(options, caller(), cursor),
  get templates() {
    const forRole = caller().isOperator ? [...FOR_OPERATORS, ...FOR_ALL] : FOR_ALL;
    return options.skills(caller()) ? [...forRole, SKILL_TEMPLATE] : forRole;
  },
  async read(uri, client) {
    try {
      return await read(options, caller(), uri, client);
    } catch (error) {
      const { code } = errorData(error);
      if (code === 'NOT_FOUND' || code === 'INVALID_ARGUMENT') return undefined;
      throw error;
    }
  },
});

const SKILLS = 'skills:';
const SESSIONS = '0';

/** First the skills, then the sessions. */
async function list(
  options: ResourceOptions,
  caller: McpCaller,
  cursor?: string,
): ReturnType<McpResources['list']> {
  const isOfSkills = cursor === undefined || cursor.startsWith(SKILLS);
  const skills = isOfSkills ? options.skills(caller) : undefined;
  if (!skills) return listSessions(options, caller, cursor);
  const { resources, next } = await skills.resources(cursor?.slice(SKILLS.length) ?? '');
  if (next !== undefined) return { resources, nextCursor: `${SKILLS}${next}` };
  if (resources.length === 0) return listSessions(options, caller, SESSIONS);
  return { resources, ...(caller.isOperator ? { nextCursor: SESSIONS } : {}) };
}

async function listSessions(
  { services }: ResourceOptions,
  caller: McpCaller,
  cursor = SESSIONS,
): ReturnType<McpResources['list']> {
  if (!/^\d{1,9}$/.test(cursor))
    throw new TroupeError('INVALID_ARGUMENT', 'the cursor is none that a list named');
  if (!caller.isOperator) return { resources: [] };
  const offset = Number(cursor);
  const { sessions } = await sessionsOf(services, caller, { limit: PAGE, offset });
  return {
    resources: sessions.map(({ key, label, lastMessagePreview, updatedAt }) => ({
      uri: sessionUri(key),
      name: key,
      ...(label === undefined ? {} : { title: label }),
      ...(lastMessagePreview === undefined ? {} : { description: lastMessagePreview }),
      mimeType: 'application/x-ndjson',
      ...(updatedAt ? { annotations: { lastModified: new Date(updatedAt).toISOString() } } : {}),
    })),
    ...(sessions.length === PAGE ? { nextCursor: String(offset + PAGE) } : {}),
  };
}

const sessionsOf = (services: OperationServices, caller: McpCaller, params: object) =>
  readOperation(services, caller, 'sessions.list', params) as Promise<SessionsListResult>;

async function read(
  { services, edge, evidence, skills, taskApp }: ResourceOptions,
  caller: McpCaller,
  uri: string,
  client: ClientFeatures,
): Promise<ReadResourceResult | undefined> {
  const json = (value: unknown) => contentsOf(uri, 'application/json', JSON.stringify(value));
  if (uri === TASK_APP) return client.apps && taskApp ? readTaskApp(taskApp) : undefined;
  if (isSkillUri(uri)) return skills(caller)?.read(uri);
  if (uri.startsWith(TASK)) return json(await edge.task(rest(uri, TASK), caller.credentials));
  if (uri.startsWith(EVIDENCE)) return json(await evidence(caller, rest(uri, EVIDENCE)));
  if (!caller.isOperator) return undefined;
  if (uri.startsWith(SESSION)) {
    const text = await transcriptOf(services, caller, rest(uri, SESSION));
    return contentsOf(uri, 'application/x-ndjson', text);
  }
  if (!uri.startsWith(NOTE)) return undefined;
  const [agent = '', ...path] = uri.slice(NOTE.length).split('/').map(decoded);
  const params = { agent, path: path.join('/') };
  const note = (await readOperation(services, caller, 'memory.get', params)) as { text: string };
  return contentsOf(uri, 'text/markdown', note.text);
}

/** The newest entries of a session that fit. */
async function transcriptOf(
  services: OperationServices,
  caller: McpCaller,
  key: string,
): Promise<string> {
  const lines: string[] = [];
  let bytes = 0;
  const last = await services.system.transcripts.last(address(caller.tenant, 'session', key));
  const first = Math.max(1, last - TRANSCRIPT_ENTRIES_MAX + 1);
  for (let from: number | undefined = first; from !== undefined; ) {
    const page = (await readOperation(services, caller, 'sessions.transcript', { key, from })) as {
      entries: readonly { entry: SessionEntry }[];
      next?: number;
    };
    for (const { entry } of page.entries) {
      const line = JSON.stringify(entry);
      bytes += Buffer.byteLength(line) + 1;
      lines.push(line);
    }
    while (bytes > TRANSCRIPT_BYTES_MAX && lines.length > 1)
      bytes -= Buffer.byteLength(lines.shift()!) + 1;
    from = page.next;
  }
  return lines.map((line) => `${line}\n`).join('');
}

const rest = (uri: string, prefix: string): string => decoded(uri.slice(prefix.length));

/** @throws TroupeError INVALID_ARGUMENT */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the URI is not valid', { cause });
  }
};

/** The prompt that continues a session in another client. */
export const promptsOf = (
  { services }: Pick<ResourceOptions, 'services'>,
  caller: () => McpCaller,
): readonly McpPrompt[] => [
  {
    definition: {
      name: 'continue_session',
      title: 'Continue a session',
      description: 'Adds the transcript of a session, to continue its work here',
      arguments: [{ name: 'key', description: 'Key of the session', required: true }],
    },
    async get({ key = '' }) {
      const text = await transcriptOf(services, caller(), key);
      const uri = sessionUri(key);
      return {
        messages: [
          { role: 'user', content: { type: 'text', text: `Continue the work of session ${key}.` } },
          {
            role: 'user',
            content: {
              type: 'resource',
              resource: { uri, mimeType: 'application/x-ndjson', text },
            },
          },
        ],
      };
    },
  },
];

/** Keys of sessions and ids of agents that begin with what was typed. */
export const completionOf =
  ({ services }: Pick<ResourceOptions, 'services'>, caller: () => McpCaller) =>
  async ({ argument: { name, value } }: CompleteRequestParams): Promise<readonly string[]> => {
    if (!caller().isOperator) return [];
    if (name === 'agent') {
      const { agents } = (await readOperation(services, caller(), 'agents.list', {})) as {
        agents: readonly { id: string }[];
      };
      return agents.map(({ id }) => id).filter((id) => id.startsWith(value));
    }
    if (name !== 'key') return [];
    const found = await sessionsOf(services, caller(), {
      limit: PAGE,
      ...(value === '' ? {} : { search: value }),
    });
    return found.sessions.map(({ key }) => key).filter((key) => key.includes(value));
  };
