/**
 * The contract of model.ts for every model provider. It runs on each implementation with its real
 * SDK against a local server that speaks its protocol, and on the offline model by its directives.
 */
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {
  ModelDone,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  StreamOptions,
} from '../../../agent/models/model.ts';
import { type ErrorCode, errorData, TroupeError } from '../../../protocols/errors.ts';
import type { Plan, SeenRequest } from '../../servers/scripted-server.ts';
import { ManualClock, until } from './manual-clock.ts';

export const secretKey = 'sk-test-very-secret-0123456789';

export type Rig = {
  readonly provider: ModelProvider;
  readonly clock: ManualClock;
  /** Makes the provider do `plan` on the next call, and returns the request that triggers it. */
  prepare(plan: Plan): ModelRequest;
  /** requests that the provider's server saw; absent for a provider without a server */
  readonly requests?: readonly SeenRequest[];
  close(): Promise<void>;
};

export const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'claude-sonnet-5-5',
  system: 'Be brief.',
  messages: [{ role: 'user', text: 'hello' }],
  tools: [calculateSpec],
  ...more,
});

export const calculateSpec = {
  name: 'calculate',
  description: 'Calculates.',
  parameters: {
    type: 'object',
    properties: { expression: { type: 'string' } },
    required: ['expression'],
  },
};

export const options = (more: Partial<StreamOptions> = {}): StreamOptions => ({
  signal: new AbortController().signal,
  idempotencyKey: 'intent-1',
  idleTimeoutMs: 1_000,
  ...more,
});

/** For a real clock: loading an SDK on a busy machine takes its time. */
export const patient = (): StreamOptions => options({ idleTimeoutMs: 60_000 });

export type Heard = {
  events: ModelEvent[];
  text: string;
  reasoning: string;
  done: ModelDone[];
  error?: TroupeError;
};

/** Reads a stream until it is done or fails. */
export const hearAll = async (
  stream: AsyncIterable<ModelEvent>,
  onEvent: (event: ModelEvent, heard: Heard) => void = () => {},
): Promise<Heard> => {
  const heard: Heard = { events: [], text: '', reasoning: '', done: [] };
  try {
    for await (const event of stream) {
      heard.events.push(event);
      if (event.kind === 'text') heard.text += event.delta;
      else if (event.kind === 'reasoning') heard.reasoning += event.delta;
      else heard.done.push(event);
      onEvent(event, heard);
    }
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    heard.error = error;
  }
  return heard;
};

const fourDeltas = ['The ', 'actor ', 'reads ', 'mail.'];
const sum = { id: 'call_7', name: 'calculate', args: { expression: '2+2' } };

export const providerContract = (name: string, start: () => Promise<Rig>): void => {
  describe(`${name} keeps the contract of a model provider`, () => {
    let rig: Rig;
    beforeAll(async () => {
      rig = await start();
    });
    afterAll(() => rig.close());
    afterEach(() => {
      expect(rig.clock.pending).toBe(0); // no timer is left behind
    });
    const call = (plan: Plan, more: Partial<StreamOptions> = {}) =>
      hearAll(rig.provider.stream(rig.prepare(plan), options(more)));

    goodEnds(() => rig, call);
    badEnds(() => rig, call);
    leaving(() => rig);
  });
};

type Call = (plan: Plan, more?: Partial<StreamOptions>) => Promise<Heard>;

const goodEnds = (rig: () => Rig, call: Call): void => {
  it('ends a successful stream with exactly one done, whose text is the concatenation of all deltas', async () => {
    const heard = await call({ kind: 'answer', deltas: fourDeltas });
    expect(heard.error).toBeUndefined();
    expect(heard.done).toHaveLength(1);
    expect(heard.events.at(-1)?.kind).toBe('done');
    expect(heard.events.length).toBeGreaterThanOrEqual(5);
    expect(heard.done[0]).toMatchObject({ text: heard.text, stop: 'end', calls: [] });
    expect(heard.text).not.toBe('');
    expect(heard.done[0]?.usage.inputTokens).toBeGreaterThan(0);
    expect(heard.done[0]?.usage.outputTokens).toBeGreaterThan(0);
  });

  it('does nothing before it is read', async () => {
    const before = rig().requests?.length;
    rig().provider.stream(request(), options());
    await new Promise((resolve) => setImmediate(resolve));
    expect(rig().requests?.length).toBe(before);
    expect(rig().clock.pending).toBe(0);
  });

  it('returns a tool call with its arguments, and accepts its result in the next request', async () => {
    const asked = rig().prepare({ kind: 'answer', calls: [sum] });
    const first = await hearAll(rig().provider.stream(asked, options()));
    expect(first.error).toBeUndefined();
    const [done] = first.done;
    expect(done).toMatchObject({ stop: 'tools', calls: [{ name: sum.name, args: sum.args }] });
    const id = done?.calls[0]?.id as string;
    expect(id).not.toBe('');
    const answered: ModelRequest = {
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', text: done?.text ?? '', calls: done?.calls ?? [] },
        { role: 'tool', callId: id, name: sum.name, result: '4', isError: false },
      ],
    };
    const second = await hearAll(rig().provider.stream(answered, options()));
    expect(second.error).toBeUndefined();
    expect(second.done[0]).toMatchObject({ stop: 'end', calls: [] });
  });

  it('separates reasoning from the text', async () => {
    const heard = await call({ kind: 'answer', reasoning: ['so ', 'then'], deltas: fourDeltas });
    expect(heard.error).toBeUndefined();
    expect(heard.reasoning).not.toBe('');
    expect(heard.done[0]?.text).toBe(heard.text);
    expect(heard.events.findIndex(({ kind }) => kind === 'reasoning')).toBeLessThan(
      heard.events.findIndex(({ kind }) => kind === 'text'),
    );
  });

  it.each(['length', 'refusal'] as const)(
    'reports a stop by %s, and then returns no calls',
    async (stop) => {
      const heard = await call({ kind: 'answer', deltas: fourDeltas, calls: [sum], stop });
      expect(heard.error).toBeUndefined();
      expect(heard.done[0]).toMatchObject({ stop, calls: [], text: heard.text });
    },
  );
};

const badEnds = (rig: () => Rig, call: Call): void => {
  /** The events and the error of a call that fails in this way. */
  const failure = (code: ErrorCode) => ({
    done: [],
    error: { code, details: { provider: rig().provider.id } },
  });

  it('reports RATE_LIMIT_EXCEEDED with the server’s wait time', async () => {
    const headers = { 'retry-after-ms': '1500' };
    const heard = await call({ kind: 'refuse', status: 429, headers });
    expect(heard).toMatchObject(failure('RATE_LIMIT_EXCEEDED'));
    expect(heard.error?.retryAfterMs).toBe(1_500);
  });

  it('reports UNAVAILABLE for a failing server, after a single attempt', async () => {
    const before = rig().requests?.length ?? 0;
    expect(await call({ kind: 'refuse', status: 500 })).toMatchObject(failure('UNAVAILABLE'));
    expect(await call({ kind: 'refuse', status: 529 })).toMatchObject(failure('UNAVAILABLE'));
    if (rig().requests) expect(rig().requests?.length).toBe(before + 2);
  });

  it('reports UNAUTHORIZED for a refused key', async () => {
    expect(await call({ kind: 'refuse', status: 401 })).toMatchObject(failure('UNAUTHORIZED'));
  });

  it('reports INVALID_ARGUMENT for a refused request', async () => {
    expect(await call({ kind: 'refuse', status: 400 })).toMatchObject(failure('INVALID_ARGUMENT'));
  });

  it('reports UNAVAILABLE when the connection is cut, after the received text', async () => {
    const heard = await call({ kind: 'cut', deltas: fourDeltas });
    expect(heard).toMatchObject(failure('UNAVAILABLE'));
    expect(heard.text).not.toBe('');
  });

  it('reports UNAVAILABLE when the stream ends without its end event', async () => {
    const heard = await call({ kind: 'endEarly', deltas: fourDeltas });
    expect(heard).toMatchObject(failure('UNAVAILABLE'));
    expect(heard.text).not.toBe('');
  });

  it.each(['json', 'shape'] as const)(
    'reports INTERNAL for an event of invalid %s',
    async (form) => {
      const heard = await call({ kind: 'malformed', deltas: fourDeltas, form });
      expect(heard).toMatchObject(failure('INTERNAL'));
      expect(heard.text).not.toBe('');
    },
  );

  it('reports DEADLINE_EXCEEDED when nothing arrives for longer than the idle limit', async () => {
    const asked = rig().prepare({ kind: 'stall', deltas: fourDeltas });
    let events = 0;
    const running = hearAll(rig().provider.stream(asked, options()), () => events++);
    await until(() => events >= 4, 'four deltas');
    await until(() => rig().clock.pending === 1, 'the idle timer');
    rig().clock.advance(999);
    expect(rig().clock.pending).toBe(1);
    rig().clock.advance(1);
    const heard = await running;
    expect(heard.error?.code).toBe('DEADLINE_EXCEEDED');
    expect(heard.done).toEqual([]);
    expect(await closed(rig())).toBe(true);
  });

  it('never shows the key in an error, however it is printed', async () => {
    for (const status of [400, 401, 429, 500]) {
      const message = `You said ${secretKey}`;
      const { error } = await call({ kind: 'refuse', status, message });
      const printed = [
        String(error),
        error?.stack,
        JSON.stringify(errorData(error)),
        inspect(error, { depth: 9 }),
      ];
      for (const text of printed) expect(text).not.toContain(secretKey);
    }
  });
};

/** The server saw that the client closed the connection. */
const closed = async ({ requests }: Rig): Promise<boolean> => {
  if (requests) await until(() => requests.at(-1)?.aborted === true, 'the connection’s end');
  return true;
};

const leaving = (rig: () => Rig): void => {
  it('reports CANCELLED and closes the connection when the caller aborts', async () => {
    const abort = new AbortController();
    const asked = rig().prepare({ kind: 'stall', deltas: fourDeltas });
    const stream = rig().provider.stream(asked, options({ signal: abort.signal }));
    const heard = await hearAll(stream, (_, { events }) => {
      if (events.length === 2) abort.abort();
    });
    expect(heard.error?.code).toBe('CANCELLED');
    expect(heard.done).toEqual([]);
    expect(await closed(rig())).toBe(true);
  });

  it('sends no request when the caller aborted before', async () => {
    const before = rig().requests?.length;
    const stream = rig().provider.stream(request(), options({ signal: AbortSignal.abort() }));
    expect((await hearAll(stream)).error?.code).toBe('CANCELLED');
    expect(rig().requests?.length).toBe(before);
  });

  it('closes the connection when the consumer stops reading', async () => {
    const asked = rig().prepare({ kind: 'stall', deltas: fourDeltas });
    for await (const _ of rig().provider.stream(asked, options())) break;
    expect(await closed(rig())).toBe(true);
  });
};
