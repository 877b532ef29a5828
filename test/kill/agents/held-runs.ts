/**
 * Runs that are held, one in each state of the session's statechart that takes time, so that one
 * kill -9 interrupts them all. They are held by a stalled model, by slow hooks, by a slow command,
 * and by an unanswered approval. The class also checks each run afterwards.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { sessionAddress } from '../../../actors/index.ts';
import type { Address } from '../../../protocols/address.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import { eventually } from '../../runtime/eventually.ts';
import { type HeldModel, startHeldModel } from './held-model.ts';
import type { Stored } from '../stored.ts';

const acting = (state: string) => ({ running: { working: { acting: state } } });
const working = (state: string) => ({ running: { working: state } });

/** By name of a run: the state in which it is held. */
export const STATES: Readonly<Record<string, unknown>> = {
  // The agent admits one run at a time, and that one waits for the model.
  admitting: { running: 'admitting' },
  thinking: working('thinking'),
  // It has sent a message and waits for the model again.
  sent: working('thinking'),
  // The first model call builds the prompt.
  assembling: working('thinking'),
  compacting: working('compacting'),
  // caused by /compact
  shortening: 'compacting',
  asking: acting('asking'),
  'running-once': acting('runningOnce'),
  replying: { running: 'replying' },
  running: acting('running'),
  'running-keyed': acting('runningKeyed'),
  // These start last, because they leave their state soon.
  collecting: 'collecting',
  'backing-off': working('backingOff'),
};

/** Separate agents, because tools of one agent that use its workspace run one after the other. */
const AGENTS: Readonly<Record<string, string>> = {
  admitting: 'narrow',
  thinking: 'narrow',
  running: 'reader',
  'running-once': 'runner',
  collecting: 'gather',
  'backing-off': 'busy',
};
/** The text that the tool `message` sends into its own session. */
const SENT = 'This was sent.';
/** Time until the run of collected messages starts: long enough for the kill. */
const QUIET_MS = 30_000;
/** A hook has five seconds. This number of hooks runs one after the other. */
const HOOKS = 10;
/** /compact adds no message to its session and starts no run. */
const COMMAND = 'shortening-run-0';
const ENDED_WITHIN_MS = 60_000;

export class HeldRuns {
  readonly model: HeldModel;
  /** where hooks and commands record what they did */
  readonly #folder: string;
  readonly #sent: string[] = [];
  /** by name, a suffix of the session key, chosen so that the session is in a certain shard */
  readonly #suffixes = new Map<string, number>();

  private constructor(model: HeldModel, folder: string) {
    this.model = model;
    this.#folder = folder;
  }

  /** @param folder of scripts, hooks and their records; shared by all processes of the test */
  static async open(folder: string): Promise<HeldRuns> {
    mkdirSync(join(folder, 'hooks'), { recursive: true });
    const script = (name: string, more = '') => {
      writeFileSync(join(folder, `${name}.sh`), `echo ran >> ${join(folder, name)}\n${more}`);
      return { name: 'exec', args: { command: `sh ${join(folder, `${name}.sh`)}` } };
    };
    const released = join(folder, 'released');
    const wait = `while [ ! -e ${released} ]; do sleep 0.1; done\n`;
    for (let n = 0; n < HOOKS; n++)
      writeFileSync(join(folder, 'hooks', `hold-${n}.mjs`), hookText(folder, n));
    const model = await startHeldModel({
      asking: script('asking'),
      running: { name: 'read', args: { path: '.' } },
      sent: { name: 'message', args: { text: SENT } },
      'running-keyed': { name: 'message', args: { text: 'it goes on', to: 'ada' } },
      'running-once': script('running-once', wait),
    });
    return new HeldRuns(model, folder);
  }

  /** Writes the configuration of a process into its data folder. */
  configure(data: string): void {
    const served = {
      api: 'openai-completions',
      baseUrl: this.model.baseUrl,
      apiKey: 'no-secret',
      models: [{ id: 'model' }],
    };
    const config = {
      models: { providers: { served, busy: served } },
      agents: {
        defaults: { model: 'served/model', sandbox: { mode: 'none' } },
        agents: [
          { id: 'main', default: true },
          { id: 'narrow', runsMax: 1 },
          { id: 'reader' },
          { id: 'runner' },
          { id: 'gather', queue: { mode: 'collect', debounceMs: QUIET_MS } },
          { id: 'busy', model: 'busy/model' },
        ],
      },
      tools: { exec: { allow: [`sh ${join(this.#folder, 'running-once.sh')}`] } },
      hooks: { folder: join(this.#folder, 'hooks') },
      cluster: { shards: 8 },
    };
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(config));
  }

  keyOf(name: string): string {
    return `agent:${AGENTS[name] ?? 'main'}:${name}-${this.#suffixes.get(name) ?? 0}`;
  }

  addressOf(name: string): Address {
    return sessionAddress('default', this.keyOf(name));
  }

  /** Chooses session keys whose addresses are `wanted`. */
  place(wanted: (session: Address) => boolean): void {
    for (const name of Object.keys(STATES))
      for (let n = 0; !wanted(this.addressOf(name)); n++) this.#suffixes.set(name, n);
  }

  /**
   * Brings every run into the state in which it is held. `observed` may check the states before the
   * runs start that leave their states soon.
   */
  async begin(client: GatewayClient, observed = async () => {}): Promise<void> {
    for (const n of [1, 2])
      for (const name of ['compacting', 'shortening'])
        await endOf(client, await this.#say(client, name, `Let us talk. [talk ${name}]`, n));
    await this.#say(client, 'thinking', 'I am [thinking].');
    await this.#isHeld('thinking');
    const { collecting: _, 'backing-off': __, thinking: ___, ...others } = STATES;
    for (const name of Object.keys(others))
      await this.#say(client, name, name === 'shortening' ? '/compact' : `I am [${name}].`);
    for (const name of ['compacting', 'shortening', 'sent']) await this.#isHeld(name);
    for (const name of ['assembling', 'running', 'running-keyed', 'replying', 'running-once'])
      await this.#isNoted(name);
    await oneQuestion(client);
    await observed();
    const first = await this.#say(client, 'collecting', 'I am [collecting].', 1);
    await this.#say(client, 'collecting', 'I am [collecting] more.', 2);
    await this.#say(client, 'backing-off', 'I am [backing-off].');
    await this.#isHeld('backing-off');
    await endOf(client, first);
  }

  /** From now on nothing is held. */
  release(): void {
    writeFileSync(join(this.#folder, 'released'), '');
    this.model.release();
  }

  /** Allows the open question and waits until every run has ended. */
  async end(client: GatewayClient): Promise<void> {
    const { id, request } = await oneQuestion(client);
    same({ asked: request.command, ran: this.#lines('asking') }, { asked: this.#asked, ran: [] });
    await client.request('exec.approval.resolve', { id, decision: 'allow-once' });
    for (const runId of this.runIds()) await endOf(client, runId);
    await eventually(async () => same(await this.#isShortened(client), true));
    const { messages } = await client.request('chat.history', { sessionKey: this.keyOf('sent') });
    const shown = messages.map(({ content }) => JSON.stringify(content));
    same(
      shown.filter((content) => content === JSON.stringify([{ type: 'text', text: SENT }])).length,
      1,
    );
  }

  /** Whether the compaction requested by /compact is complete. */
  async #isShortened(client: GatewayClient): Promise<boolean> {
    const sessionKey = this.keyOf('shortening');
    const { messages } = await client.request('chat.history', { sessionKey });
    return JSON.stringify(messages).includes('"kind":"compaction"');
  }

  /** All started runs, without the command. */
  runIds(): readonly string[] {
    return this.#sent.filter((id) => id !== COMMAND);
  }

  get #asked(): string {
    return `sh ${join(this.#folder, 'asking.sh')}`;
  }

  /** By name: the state of each session. */
  async states(stored: Stored): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const name of Object.keys(STATES))
      found[name] = await stored.stateOf(this.addressOf(name));
    return found;
  }

  /**
   * Checks that each run has one end and one reply under its id, and that `once` effects ran once.
   */
  async account(stored: Stored): Promise<void> {
    for (const name of Object.keys(STATES)) {
      const entries = await stored.entriesOf(this.addressOf(name));
      const runs = this.runIds().filter((id) => id.startsWith(`${name}-run-`));
      accountOf(name, runs.toSorted(), entries);
    }
    const sent = (await stored.entriesOf(this.addressOf('sent'))).flatMap((entry) =>
      entry.type === 'assistant' && entry.of !== undefined ? [entry.text] : [],
    );
    same(sent, [SENT]);
    const ran = { once: this.#lines('running-once'), asked: this.#lines('asking') };
    same(ran, { once: ['ran'], asked: ['ran'] });
    const result = async (name: string) =>
      resultIn(name, await stored.entriesOf(this.addressOf(name)));
    const unknown = { name: 'exec', isError: true, unknown: true };
    holds(await result('running-once'), unknown);
    for (const name of ['asking', 'running', 'running-keyed', 'sent'])
      holds(await result(name), { isError: false });
  }

  /**
   * Starts runs that are not held, each in its own session. Resolves at the first final reply, when
   * the other runs are close to their ends.
   */
  async hurry(client: GatewayClient): Promise<void> {
    const first = new Promise<void>((resolve) => {
      client.on('chat', ({ runId, state }) => {
        if (state === 'final' && runId.startsWith('ending')) resolve();
      });
    });
    await Promise.all([first, ...HURRIED.map((n) => send(client, ...hurried(n)))]);
  }

  /**
   * Sends each message again under its own id after the kill, and checks that each has one answer.
   * @returns the number of messages
   */
  async accountOfHurried(client: GatewayClient, stored: () => Promise<Stored>): Promise<number> {
    for (const n of HURRIED) await send(client, ...hurried(n));
    for (const n of HURRIED) await endOf(client, hurried(n)[2]);
    const dead = await stored();
    for (const n of HURRIED) {
      const [session, , runId] = hurried(n);
      accountOf(runId, [runId], await dead.entriesOf(sessionAddress('default', session)));
    }
    return HURRIED.length;
  }

  async #say(client: GatewayClient, name: string, message: string, n = 0): Promise<string> {
    const runId = `${name}-run-${n}`;
    this.#sent.push(runId);
    await send(client, this.keyOf(name), message, runId);
    return runId;
  }

  #isHeld(name: string): Promise<void> {
    return eventually(() =>
      same({ name, isHeld: this.model.held.has(name) }, { name, isHeld: true }),
    );
  }

  #isNoted(name: string): Promise<void> {
    return eventually(() =>
      same({ name, isHeld: this.#lines(name).length > 0 }, { name, isHeld: true }),
    );
  }

  #lines(file: string): string[] {
    const path = join(this.#folder, file);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  }
}

const HURRIED = Array.from({ length: 8 }, (_, n) => n);
const hurried = (n: number) =>
  [`agent:main:ending-${n}`, 'I am [ending].', `ending-run-${n}`] as const;

async function send(client: GatewayClient, sessionKey: string, message: string, runId: string) {
  await client.request('chat.send', { sessionKey, message, idempotencyKey: runId });
}

const same = (found: unknown, wanted: unknown): void => expect(found).toEqual(wanted);
const holds = (found: object, wanted: object): void => expect(found).toMatchObject(wanted);

/** The result of the run's only tool call. */
function resultIn(name: string, entries: readonly SessionEntry[]): SessionEntry {
  const [result, ...others] = entries.filter(({ type }) => type === 'tool');
  if (!result || others.length > 0)
    throw new Error(`${name}: one result was expected, and there are ${others.length} more`);
  return result;
}

/** Waits for the only open question. */
const oneQuestion = (client: GatewayClient) =>
  eventually(async () => {
    const [question, ...others] = await client.request('exec.approval.list', {});
    if (!question || others.length > 0) throw new Error('the number of open questions is not one');
    return question;
  });

/** @throws when the run did not end with status ok */
async function endOf(client: GatewayClient, runId: string): Promise<void> {
  const params = { runId, timeoutMs: ENDED_WITHIN_MS };
  const { status, error } = await client.request('agent.wait', params, { timeoutMs: 0 });
  expect({ runId, status, error }).toEqual({ runId, status: 'ok', error: undefined });
}

/** Checks the messages, ends and answers of a session, each with its run id. */
function accountOf(name: string, runs: readonly string[], entries: readonly SessionEntry[]): void {
  const of = (type: SessionEntry['type']) =>
    entries.flatMap((entry) => (entry.type === type ? [entry.runId] : [])).toSorted();
  const answers = entries.flatMap((entry) =>
    entry.type === 'assistant' && entry.stop === 'end' ? [entry.runId] : [],
  );
  expect(of('user'), `messages of ${name}`).toEqual(runs);
  expect(of('run.end'), `ends of ${name}`).toEqual(runs);
  expect(answers.toSorted(), `answers of ${name}`).toEqual(runs);
  const shortened = name === 'compacting' || name === 'shortening';
  expect(of('compaction'), `compactions of ${name}`).toHaveLength(shortened ? 1 : 0);
}

const hookText = (folder: string, n: number): string => `
import { appendFileSync, existsSync } from 'node:fs';
const folder = ${JSON.stringify(folder)};
const hold = async (name, { sessionKey, signal }) => {
  if (sessionKey.replace(/^.*:|-\\d+$/g, '') !== name) return undefined;
  if (${n} === 0) appendFileSync(folder + '/' + name, 'held\\n');
  while (!existsSync(folder + '/released') && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, 25));
  return undefined;
};
export default {
  name: 'hold-${n}',
  hooks: {
    before_agent_start: (_, about) => hold('assembling', about),
    after_tool_call: async (_, about) => {
      await hold('running', about);
      await hold('running-keyed', about);
    },
    agent_end: (_, about) => hold('replying', about),
  },
};
`;
