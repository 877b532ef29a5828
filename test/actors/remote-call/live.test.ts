/** Remote calls on a running system that stops and starts again, with a program in this process. */
import { expect, test } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  type RemoteCall,
  remoteCallAddress,
  type RemoteCaller,
  type RemoteCallRow,
  REMOTE_CALLS_INDEX,
  type RemoteStep,
} from '../../../protocols/remote-call.ts';
import { eventually } from '../../runtime/eventually.ts';
import { openWorld } from '../../runtime/system/world.ts';
import { call } from './walk.ts';

const CALL = remoteCallAddress('default', 'one');
const done: RemoteStep = { kind: 'done', result: { text: 'yes' } };
const task: RemoteStep = { kind: 'running', handle: { taskId: '7' }, pollMs: 100 };

/** A program outside: it survives the stop of the system. */
class Program implements RemoteCaller {
  readonly keys: string[] = [];
  readonly handles: unknown[] = [];
  cancelled = 0;
  onStart: () => Promise<RemoteStep> = async () => done;
  onFollow: () => Promise<RemoteStep> = async () => done;

  start(_call: RemoteCall, { idempotencyKey }: { idempotencyKey: string }): Promise<RemoteStep> {
    this.keys.push(idempotencyKey);
    return this.onStart();
  }
  follow(_call: RemoteCall, handle: unknown): Promise<RemoteStep> {
    this.handles.push(handle);
    return this.onFollow();
  }
  async cancel(): Promise<void> {
    this.cancelled += 1;
  }
}

async function opened() {
  const program = new Program();
  const services = { remote: { mcp: program } };
  const actors = shippedActors().filter(({ type }) => type === 'remote-call');
  const world = await openWorld({ actors, services, shards: 1 });
  const start = (changes: Partial<RemoteCall> = {}) =>
    world.ask(CALL, { type: 'remote-call.start', call: { ...call, ...changes } });
  const row = () => world.system.index.get<RemoteCallRow>(REMOTE_CALLS_INDEX, 'default', 'one');
  return { program, world, start, row };
}

const never = () => new Promise<never>(() => {});
const ANSWER = { kind: 'answered', result: { text: 'yes' } };

test('a call is made once, and a repeat gets its answer', async () => {
  const { program, start, row } = await opened();
  expect(await start()).toMatchObject(ANSWER);
  expect(await start()).toMatchObject(ANSWER);
  expect(program.keys).toHaveLength(1);
  expect(row()).toMatchObject({ state: 'done', server: 'files', name: 'read' });
});

test('a task that was stored is asked about after a restart, and not called again', async () => {
  const { program, world, start, row } = await opened();
  program.onStart = async () => task;
  program.onFollow = never;
  void start();
  await eventually(() => expect(program.handles).toHaveLength(1));
  await world.stop();
  program.onFollow = async () => done;
  await world.start();
  expect(await start()).toMatchObject(ANSWER);
  expect(program.keys).toHaveLength(1);
  expect(program.handles.at(-1)).toEqual({ taskId: '7' });
  expect(row()).toMatchObject({ state: 'done' });
});

test('a call of class once that was lost is unknown, and is not made again', async () => {
  const { program, world, start, row } = await opened();
  program.onStart = never;
  void start({ class: 'once' });
  await eventually(() => expect(program.keys).toHaveLength(1));
  await world.restart();
  expect(await start({ class: 'once' })).toMatchObject({
    kind: 'answered',
    result: { isError: true, unknown: true, text: expect.stringMatching(/^Unknown: the worker/) },
  });
  expect(program.keys).toHaveLength(1);
  expect(row()).toMatchObject({ state: 'unknown' });
});

test('a keyed call that was lost is made again under the same key', async () => {
  const { program, world, start } = await opened();
  program.onStart = never;
  void start();
  await eventually(() => expect(program.keys).toHaveLength(1));
  await world.stop();
  program.onStart = async () => done;
  await world.start();
  expect(await start()).toMatchObject(ANSWER);
  expect(new Set(program.keys).size).toBe(1);
});

test('a call that was not made is made later under the same key; what may be made is not', async () => {
  const { program, start } = await opened();
  const errors: Error[] = [new TroupeError('UNAVAILABLE', 'no connection')];
  program.onStart = async () => {
    const error = errors.shift();
    if (error) throw error;
    return done;
  };
  expect(await start({ class: 'once' })).toMatchObject(ANSWER);
  expect(program.keys).toHaveLength(2);
  expect(new Set(program.keys).size).toBe(1);
});

test('a connection that breaks in the middle of a call of class once leaves it unknown', async () => {
  const { program, start } = await opened();
  program.onStart = () => Promise.reject(new Error('socket hang up'));
  expect(await start({ class: 'once' })).toMatchObject({
    result: { unknown: true, text: expect.stringContaining('socket hang up') },
  });
  expect(program.keys).toHaveLength(1);
});

test('a cancelled call asks the program to end its task', async () => {
  const { program, world, start, row } = await opened();
  program.onStart = async () => task;
  program.onFollow = async () => task;
  const answer = start();
  await eventually(() => expect(row()).toMatchObject({ state: 'running' }));
  await world.ask(CALL, { type: 'remote-call.cancel' });
  expect(await answer).toMatchObject({ kind: 'refused', error: { code: 'CANCELLED' } });
  await eventually(() => expect(row()).toMatchObject({ state: 'cancelled' }));
  expect(program.cancelled).toBe(1);
});

test('a call ends at its time limit', async () => {
  const { program, start } = await opened();
  program.onStart = never;
  expect(await start({ timeoutMs: 200 })).toMatchObject({
    kind: 'refused',
    error: { code: 'DEADLINE_EXCEEDED', message: 'read of files did not end within 0 s' },
  });
});

test('a call of class once that has no answer at its time limit is unknown', async () => {
  const { program, start, row } = await opened();
  program.onStart = never;
  expect(await start({ class: 'once', timeoutMs: 200 })).toMatchObject({
    kind: 'answered',
    result: { unknown: true, text: expect.stringContaining('did not end within 0 s') },
  });
  expect(row()).toMatchObject({ state: 'unknown' });
});
