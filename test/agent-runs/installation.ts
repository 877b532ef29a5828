/**
 * One whole installation for a test: `startTroupe` with a configuration file, as users have it, and
 * models behind the providers' real SDKs. Messages go to the real session actors. What a user sees
 * is read from the live events, the rows and the transcript, and checked by published-events.ts.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import { startTroupe } from '../../main.ts';
import { address } from '../../protocols/address.ts';
import {
  type RunEvent,
  runEventsTopic,
  type RunRow,
  type SessionEntry,
  type SessionReceive,
  type SessionRow,
} from '../../protocols/session.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import type { System } from '../../runtime/index.ts';
import { folderNameOf } from '../../runtime/workspaces/name.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import type { ServedApi } from '../servers/model-server.ts';
import type { ScriptedServer } from '../servers/scripted-server.ts';
import { checkedRun, type EndedRun } from './published-events.ts';

const TENANT = 'default';
const PERSON = { sub: 'ada', roles: ['operator'] };

/** A model of each protocol that both its SDK and its server accept. */
export const MODELS: Readonly<Record<ServedApi, string>> = {
  'anthropic-messages': 'claude-sonnet-5-5',
  'openai-responses': 'gpt-5.5',
  'openai-completions': 'local-model',
  'google-generative-ai': 'gemini-3.1-pro-preview',
};

/** US dollars per million tokens, for every model of these tests. */
export const PRICE = { input: 2, output: 10 };

/** An entry of `models.providers` for a server of a test. */
export const providerOf = (api: ServedApi, { baseUrl }: ScriptedServer, model: object = {}) => ({
  api,
  baseUrl,
  apiKey: 'key-of-the-test',
  models: [{ id: MODELS[api], price: PRICE, ...model }],
});

export type Installation = {
  readonly url: string;
  readonly system: System;
  /** stops the installation before the end of the test */
  stop(): Promise<void>;
  /** the existing folder of an agent's workspace; default: the agent `main` */
  workspace(agentId?: string): string;
  /** Sends a message; resolves when it is accepted. */
  send(sessionKey: string, text: string, more?: Partial<SessionReceive>): Promise<string>;
  /** Waits for the end of a run that was sent. */
  rowAtEnd(runId: string): Promise<RunRow>;
  /**
   * Waits for the end of a run that was started, and checks everything that was published about it.
   */
  end(sessionKey: string, runId: string): Promise<EndedRun>;
  /** both */
  run(sessionKey: string, text: string, more?: Partial<SessionReceive>): Promise<EndedRun>;
  /** all events that were published in a session so far, oldest first */
  events(sessionKey: string): readonly RunEvent[];
  transcript(sessionKey: string): Promise<readonly SessionEntry[]>;
  sessionRow(sessionKey: string): SessionRow | undefined;
};

/** Files of the agent's workspace by path, and sections of the configuration. */
type InstallOptions = {
  readonly config: object;
  readonly files?: Readonly<Record<string, string>>;
  /** the data folder, for an installation that is started again; default: a new one */
  readonly data?: string;
};

/** Starts the installation, and stops it at the end of the test. */
export async function install(options: InstallOptions): Promise<Installation> {
  const troupe = await open({ data: scratchFolder(), ...options });
  onTestFinished(() => troupe.stop());
  return troupe;
}

/** Starts an installation for several tests, which stop it and remove its data folder. */
export async function open({
  config,
  files = {},
  data,
}: InstallOptions & { readonly data: string }): Promise<Installation> {
  const file = write(data, 'troupe.json5', JSON.stringify({ log: { level: 'silent' }, ...config }));
  const loaded = loadConfig({ env: {}, file, flags: { data, port: '0', token: TOKEN } });
  const workspace = (agentId = 'main'): string => {
    const folder = folderNameOf(address(TENANT, 'agent', agentId));
    const path = join(data, 'workspaces', folder, 'files');
    mkdirSync(path, { recursive: true });
    return path;
  };
  const troupe = await startTroupe(loaded.config);
  for (const [name, text] of Object.entries(files)) write(workspace(), name, text);
  const { url, system } = troupe;
  const stop = () => troupe.stop();
  return { url, system, stop, workspace, ...talking(system, watch(system)) };
}

type Watched = Pick<Installation, 'events'>;

/** Subscribes to every session. A test receives the events of a session from the first one on. */
function watch(system: System): Watched {
  const heard = new Map<string, RunEvent[]>();
  const listen = (sessionKey: string) => {
    const events: RunEvent[] = [];
    heard.set(sessionKey, events);
    system.bus.subscribe(runEventsTopic(TENANT, sessionKey), ({ payload }) => {
      events.push(payload as RunEvent);
    });
    return events;
  };
  return { events: (sessionKey) => heard.get(sessionKey) ?? listen(sessionKey) };
}

let messages = 0;

function talking(
  system: System,
  { events }: Watched,
): Omit<Installation, 'url' | 'system' | 'stop' | 'workspace'> {
  const transcript = async (sessionKey: string) =>
    (await system.transcripts.read(sessionAddress(TENANT, sessionKey))).map(
      ({ entry }) => entry as unknown as SessionEntry,
    );
  const sessionRow = (sessionKey: string) =>
    system.index.get<SessionRow>('sessions', TENANT, sessionKey);
  const send: Installation['send'] = async (sessionKey, text, more = {}) => {
    events(sessionKey);
    const runId = more.runId ?? `run-${++messages}`;
    const answer = await system.ask(
      sessionAddress(TENANT, sessionKey),
      { type: 'session.receive', text, ...more, runId },
      { principal: PERSON, timeoutMs: 20_000, key: runId },
    );
    expect(answer).toMatchObject({ kind: 'answered', result: { runId, status: 'accepted' } });
    return runId;
  };
  const rowAtEnd: Installation['rowAtEnd'] = (runId) =>
    eventually(() => {
      const row = system.index.get<RunRow>('runs', TENANT, runId);
      expect(row?.endedAt, `the run ${runId} ended`).toBeDefined();
      return row!;
    });
  const end: Installation['end'] = async (sessionKey, runId) => {
    const row = await rowAtEnd(runId);
    const facts = await eventually(async () => {
      const entries = (await transcript(sessionKey)).filter((one) => one.runId === runId);
      expect(entries.at(-1)?.type).toBe('run.end');
      const ended = events(sessionKey).filter(
        ({ runId: of, stream }) => of === runId && stream !== 'subagent',
      );
      expect(ended.at(-1)).toMatchObject({
        stream: 'lifecycle',
        phase: expect.stringMatching(/^(end|error)$/),
      });
      return { row, entries, events: ended };
    });
    return checkedRun(facts);
  };
  const run: Installation['run'] = async (sessionKey, text, more) =>
    end(sessionKey, await send(sessionKey, text, more));
  return { send, rowAtEnd, end, run, events, transcript, sessionRow };
}
