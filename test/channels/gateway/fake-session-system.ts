/**
 * A System whose only actors are sessions that implement protocols/session.ts: serial runs,
 * followup queue, idempotency keys, rows, transcript and run events in the order of the real actor.
 * The test acts as the model: it sends each text itself, or lets the session echo.
 *
 * Committed state is in `FakeCell`, so a second system on the same cell is a restart.
 */
import { parseAddress, type Address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import { type ErrorData, TroupeError } from '../../../protocols/errors.ts';
import {
  type RunAccepted,
  type RunEvent,
  type RunRow,
  runEventsTopic,
  type SessionEntry,
  type SessionReceive,
  type SessionRow,
  type ToolCall,
} from '../../../protocols/session.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { Bus, BusMessage } from '../../../runtime/bus/bus.ts';
import type {
  AskAnswer,
  SendOptions,
  ShardStatus,
  System,
  TranscriptEntry,
} from '../../../runtime/system.ts';

type Waiting = Omit<SessionReceive, 'type'>;

/** The state that survives a restart. */
export class FakeCell {
  readonly rows = new Map<string, Map<string, unknown>>();
  readonly transcripts = new Map<string, TranscriptEntry[]>();
  readonly keys = new Map<string, { payload: string; result: unknown }>();
  readonly queues = new Map<string, Waiting[]>();
  readonly running = new Map<string, Waiting>();

  table<V>(index: string): Map<string, V> {
    let table = this.rows.get(index);
    if (!table) this.rows.set(index, (table = new Map()));
    return table as Map<string, V>;
  }
}

export class FakeBus implements Bus {
  readonly connected = true;
  readonly #handlers = new Set<{ pattern: string; call: (message: BusMessage) => void }>();
  /** true: every published event is lost */
  deaf = false;

  publish(subject: string, payload: unknown): void {
    if (this.deaf) return;
    const message = { subject, payload, respond: () => {} };
    setImmediate(() => {
      for (const { pattern, call } of this.#handlers) if (fits(pattern, subject)) call(message);
    });
  }

  subscribe(pattern: string, call: (message: BusMessage) => void): () => void {
    const handler = { pattern, call };
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  request = (): Promise<unknown> => Promise.reject(new Error('no request uses this bus'));

  close(): Promise<void> {
    this.#handlers.clear();
    return Promise.resolve();
  }
}

const fits = (pattern: string, subject: string) =>
  pattern.endsWith('.>') ? subject.startsWith(pattern.slice(0, -1)) : pattern === subject;

type Ask = Parameters<System['ask']>;

export class FakeSessionSystem implements System {
  readonly cell = 'f'.repeat(32);
  readonly bus = new FakeBus();
  readonly kept: FakeCell;
  readonly asked: { to: Address; event: Message; options: SendOptions }[] = [];
  /** true: every run answers automatically with `echo: {text}`, word by word */
  echo: boolean;
  /** answers of actors to other messages than those of runs, by type */
  readonly others: Record<string, (event: Message, to: Address) => AskAnswer> = {};
  shards: ShardStatus[] = [
    {
      shard: 0,
      state: 'owned',
      epoch: 1,
      position: 1,
      turnNo: 1,
      mailFloor: 0,
      ctlFloor: 0,
      lag: 0,
      now: 0,
      residents: 0,
    },
  ];
  #clock = 1_760_000_000_000;
  /** characters sent in the current call, per session */
  readonly #said = new Map<string, number>();

  constructor(kept = new FakeCell(), { echo = false } = {}) {
    this.kept = kept;
    this.echo = echo;
  }

  readonly upgrade = {} as System['upgrade'];
  readonly charts: System['charts'] = { list: () => [], get: async () => undefined };
  readonly erasing = undefined as never;
  readonly retaining = undefined as never;
  readonly actors: System['actors'] = {
    list: () => Promise.resolve([]),
    get: () => Promise.resolve(undefined),
    turns: () => Promise.reject(new Error('this system has no turns')),
    history: () => Promise.resolve({ kept: 'none', turns: [] }),
    turn: () => Promise.resolve(undefined),
    recording: () => Promise.reject(new Error('no recording here')),
    past: () => Promise.reject(new Error('no history here')),
  };

  readonly index: System['index'] = {
    get: <V>(index: string, _tenant: string, key: string) => this.kept.table<V>(index).get(key),
    list: <V>(index: string, _tenant: string, { prefix = '', limit = 1000 } = {}) =>
      [...this.kept.table<V>(index)]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, value]) => ({ key, value }))
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .slice(0, limit),
    scan: <V, F extends keyof V & string>(
      index: string,
      _tenant: string,
      { prefix = '' }: { readonly prefix?: string; readonly fields: readonly F[] },
      visit: (row: Pick<V, F>) => void,
    ): Promise<void> => {
      for (const [key, row] of this.kept.table<V>(index)) if (key.startsWith(prefix)) visit(row);
      return Promise.resolve();
    },
  };

  readonly caughtUp: System['caughtUp'] = async () => {};

  readonly transcripts: System['transcripts'] = {
    read: async (actor, { from = 1, limit = 1000 } = {}) =>
      (this.kept.transcripts.get(actor) ?? [])
        .filter(({ position }) => position >= from)
        .slice(0, limit),
    last: async (actor) => this.kept.transcripts.get(actor)?.at(-1)?.position ?? 0,
  };

  readonly deadLetters: System['deadLetters'] = {
    domains: async () => ['actors'],
    list: async () => [],
    get: async () => {
      throw new TroupeError('NOT_FOUND', 'there are no dead letters');
    },
    redrive: async () => ({ kind: 'accepted', id: 'none' }),
    audits: async () => [],
    drop: async () => {},
  };

  tell: System['tell'] = async (...call) => {
    await this.ask(call[0], call[1], { ...call[2], timeoutMs: 1000 });
    return { kind: 'accepted', id: 'accepted' };
  };
  inspect: System['inspect'] = () => undefined;
  status: System['status'] = () => this.shards;
  nodes: System['nodes'] = () => [];
  unknownEffects: System['unknownEffects'] = () => [];
  decide: System['decide'] = async () => ({ kind: 'accepted', id: 'decided' });
  drain: System['drain'] = () => {};
  cordon: System['cordon'] = () => {};
  cancelEffect: System['cancelEffect'] = async () => ({ kind: 'accepted', id: 'cancelled' });
  stop: System['stop'] = () => this.bus.close();

  async ask(...[to, event, options]: Ask): Promise<AskAnswer> {
    if (event.type === 'audit.note') return { kind: 'answered', result: { noted: 1 } };
    this.asked.push({ to, event, options });
    await new Promise((resolve) => setImmediate(resolve));
    const scope = `${to}|${event.type}|${options.key}`;
    const payload = JSON.stringify(event);
    const known = options.key === undefined ? undefined : this.kept.keys.get(scope);
    if (known && known.payload !== payload) {
      return refused({ code: 'CONFLICT', message: 'this key was used with another payload' });
    }
    if (known) return { kind: 'answered', result: known.result };
    const other = this.others[event.type]?.(event, to);
    if (other !== undefined && other.kind !== 'answered') return other;
    const result =
      other !== undefined
        ? other.result
        : event.type === 'session.receive'
          ? this.#receive(to, event as SessionReceive)
          : this.#abort(to, event['runId'] as string | undefined);
    if (options.key !== undefined) this.kept.keys.set(scope, { payload, result });
    return { kind: 'answered', result };
  }

  /** The live run of the session. */
  running(sessionKey: string): string | undefined {
    return this.kept.running.get(sessionKey)?.runId;
  }

  say(sessionKey: string, delta: string, offset = this.#said.get(sessionKey) ?? 0): void {
    this.#said.set(sessionKey, offset + delta.length);
    this.live(sessionKey, { stream: 'assistant', delta, offset, call: 0 });
  }

  think(sessionKey: string, delta: string): void {
    this.live(sessionKey, { stream: 'reasoning', delta, offset: 0, call: 0 });
  }

  /** The model sent `text`, called a tool and got its result: its next call starts at offset 0. */
  tool(sessionKey: string, call: ToolCall, result: string, text = ''): void {
    const { id: callId, name, args } = call;
    this.#said.delete(sessionKey);
    this.live(sessionKey, { stream: 'tool', phase: 'start', callId, name, args });
    this.live(sessionKey, { stream: 'tool', phase: 'end', callId, name, result, isError: false });
    const runId = this.running(sessionKey)!;
    const at = this.#now();
    this.commit(sessionKey, {
      type: 'assistant',
      runId,
      text,
      calls: [call],
      model: 'offline/echo',
      stop: 'toolUse',
      at,
    });
    this.commit(sessionKey, { type: 'tool', runId, callId, name, result, isError: false, at });
  }

  finish(sessionKey: string, text: string): void {
    const usage = { inputTokens: 3, outputTokens: 7 };
    const at = this.#now();
    const runId = this.running(sessionKey)!;
    this.commit(sessionKey, {
      type: 'assistant',
      runId,
      text,
      model: 'offline/echo',
      usage,
      stop: 'stop',
      at,
    });
    const row = this.#closeRun(sessionKey, { status: 'ok', text, usage, endedAt: at });
    const { startedAt = at } = row;
    this.#publish(row, {
      stream: 'lifecycle',
      phase: 'end',
      startedAt,
      endedAt: at,
      text,
      usage,
      status: 'ok',
    });
    this.#startNext(sessionKey);
  }

  fail(sessionKey: string, error: ErrorData, status: 'error' | 'timeout' = 'error'): void {
    const at = this.#now();
    const row = this.#closeRun(sessionKey, { status, error, endedAt: at });
    const { startedAt = at } = row;
    this.#publish(row, {
      stream: 'lifecycle',
      phase: 'error',
      startedAt,
      endedAt: at,
      error,
      status,
    });
    this.#startNext(sessionKey);
  }

  /** As after kill -9: live runs are restarted under their id. */
  resume(): void {
    for (const [sessionKey, message] of this.kept.running) this.#start(sessionKey, message);
  }

  #receive(to: Address, message: SessionReceive): RunAccepted {
    const sessionKey = parseAddress(to).key;
    const queued = this.kept.running.has(sessionKey);
    const acceptedAt = this.#now();
    const { runId } = message;
    this.kept.table<RunRow>('runs').set(runId, { runId, sessionKey, status: 'queued', acceptedAt });
    if (queued)
      this.kept.queues.set(sessionKey, [...(this.kept.queues.get(sessionKey) ?? []), message]);
    else this.#start(sessionKey, message);
    this.#project(sessionKey);
    return { runId, sessionKey, status: 'accepted', acceptedAt, queued };
  }

  #start(sessionKey: string, message: Waiting): void {
    const startedAt = this.#now();
    const { runId, text } = message;
    this.#said.delete(sessionKey);
    const row = this.kept.table<RunRow>('runs').get(runId)!;
    this.kept.table<RunRow>('runs').set(runId, {
      ...row,
      status: 'running',
      startedAt,
      model: 'offline/echo',
    });
    if (!this.kept.running.has(sessionKey)) {
      this.commit(sessionKey, { type: 'user', runId, text, at: startedAt });
    }
    this.kept.running.set(sessionKey, message);
    this.#project(sessionKey);
    this.live(sessionKey, { stream: 'lifecycle', phase: 'start', startedAt });
    if (this.echo) setImmediate(() => this.#echo(sessionKey, message));
  }

  #echo(sessionKey: string, { text, runId }: Waiting): void {
    if (this.running(sessionKey) !== runId) return;
    const answer = `echo: ${text}`;
    for (const word of answer.match(/\S+\s*/g) ?? []) this.say(sessionKey, word);
    this.finish(sessionKey, answer);
  }

  #abort(to: Address, runId: string | undefined): { aborted: string[] } {
    const sessionKey = parseAddress(to).key;
    const current = this.running(sessionKey);
    if (current === undefined || (runId !== undefined && runId !== current)) return { aborted: [] };
    const at = this.#now();
    const row = this.#closeRun(sessionKey, { status: 'aborted', endedAt: at });
    this.commit(sessionKey, { type: 'run.end', runId: current, status: 'aborted', at });
    this.#publish(row, {
      stream: 'lifecycle',
      phase: 'end',
      startedAt: row.startedAt ?? at,
      endedAt: at,
      text: '',
      usage: { inputTokens: 0, outputTokens: 0 },
      status: 'aborted',
    });
    this.#startNext(sessionKey);
    return { aborted: [current] };
  }

  #closeRun(sessionKey: string, ending: Partial<RunRow>): RunRow {
    const runs = this.kept.table<RunRow>('runs');
    const row = { ...runs.get(this.running(sessionKey)!)!, ...ending };
    runs.set(row.runId, row);
    this.kept.running.delete(sessionKey);
    this.#project(sessionKey, row.runId);
    return row;
  }

  #startNext(sessionKey: string): void {
    const [next, ...rest] = this.kept.queues.get(sessionKey) ?? [];
    this.kept.queues.set(sessionKey, rest);
    if (next) this.#start(sessionKey, next);
  }

  #project(sessionKey: string, runId = this.running(sessionKey)): void {
    const table = this.kept.table<SessionRow>('sessions');
    const row: SessionRow = {
      sessionKey,
      sessionId: `id-of-${sessionKey}`,
      agentId: sessionKey.split(':')[1] ?? 'main',
      status: this.kept.running.has(sessionKey) ? 'running' : 'idle',
      createdAt: table.get(sessionKey)?.createdAt ?? this.#now(),
      updatedAt: this.#now(),
      messages: this.kept.transcripts.get(`default/session/${sessionKey}`)?.length ?? 0,
      pending: this.kept.queues.get(sessionKey)?.length ?? 0,
      usage: { inputTokens: 0, outputTokens: 0 },
      ...defined({ runId }),
    };
    table.set(sessionKey, row);
  }

  commit(sessionKey: string, entry: SessionEntry): void {
    const actor = `default/session/${sessionKey}`;
    const entries = this.kept.transcripts.get(actor) ?? [];
    entries.push({ position: entries.length + 1, at: entry.at, entry });
    this.kept.transcripts.set(actor, entries);
  }

  /** Publishes an event of the session's live run. */
  live(sessionKey: string, event: LiveEvent): void {
    this.#publish({ runId: this.running(sessionKey) ?? '', sessionKey }, event);
  }

  #publish({ runId, sessionKey }: { runId: string; sessionKey: string }, event: LiveEvent): void {
    const at = this.#now();
    this.bus.publish(runEventsTopic('default', sessionKey), { runId, sessionKey, at, ...event });
  }

  #now = (): number => ++this.#clock;
}

export type LiveEvent = DistributiveOmit<RunEvent, 'runId' | 'sessionKey' | 'at'>;
type DistributiveOmit<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never;

const refused = (error: ErrorData): AskAnswer => ({ kind: 'refused', error });
