/** AcceptFirst: new connections are accepted before the log runs what their requests cause. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as turnEnd } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { AcceptFirst } from '../../../runtime/log/accept-first.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { removeFolder, temporaryFolder } from './store.ts';

const CLIENTS = 40;

/** Connects all clients and sends a byte from each, while the main thread does nothing. */
const CLIENT_CODE = `
  const { workerData: { port, clients, flags } } = require('node:worker_threads');
  const { connect } = require('node:net');
  const [go, done] = [0, 1];
  Atomics.wait(flags, go, 0);
  let connected = 0;
  for (let at = 0; at < clients; at++) {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('x');
      if (++connected < clients) return;
      Atomics.store(flags, done, 1);
      Atomics.notify(flags, done);
    });
  }
`;

type TurnEnd = (call: () => void) => void;

/**
 * Reads a byte from each client, and asks for the end of the turn after each, as the log does for a
 * frame. Returns for each byte how many turns had ended when it was read.
 */
async function endsAtReads(atTurnEnd: TurnEnd, accepted = () => {}): Promise<readonly number[]> {
  const endsAt: number[] = [];
  let ends = 0;
  let isAsked = false;
  const read = () => {
    endsAt.push(ends);
    if (isAsked) return;
    isAsked = true;
    atTurnEnd(() => {
      isAsked = false;
      ends++;
    });
  };
  const server = createServer((socket) => {
    accepted();
    socket.on('error', () => {});
    socket.once('data', read);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { port, clients: CLIENTS, flags };
  const worker = new Worker(CLIENT_CODE, { eval: true, workerData });
  onTestFinished(async () => {
    await worker.terminate();
    server.close();
  });
  await once(worker, 'online');
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  // Until all clients are connected: the server accepts none of them meanwhile.
  expect(Atomics.wait(flags, 1, 0, 20_000)).not.toBe('timed-out');
  await expect.poll(() => endsAt.length, { timeout: 20_000 }).toBe(CLIENTS);
  return endsAt;
}

test('requests of clients that connected at once are all read before the turn ends', async () => {
  const { atTurnEnd, accepted } = new AcceptFirst();
  const none = Array.from({ length: CLIENTS }, () => 0);
  expect(await endsAtReads(atTurnEnd, accepted)).toEqual(none);
});

test('without it, the last client waits for the turns of the others', async () => {
  // The event loop accepts one connection in each turn: if that changes, AcceptFirst can go.
  expect((await endsAtReads(setImmediate)).at(-1)).toBeGreaterThan(CLIENTS / 2);
});

test('the embedded store writes a frame when the turn ends', async () => {
  const ends: (() => void)[] = [];
  const path = await temporaryFolder();
  const atTurnEnd: TurnEnd = (call) => ends.push(call);
  const store = await openEmbeddedStore({ path, durability: 'process', atTurnEnd });
  let isAnswered = false;
  const appended = store.log.append('s', Buffer.from('x')).then(() => (isAnswered = true));
  await turnEnd();
  expect([isAnswered, ends.length]).toEqual([false, 1]);
  ends[0]!();
  await appended;
  await store.close();
  await removeFolder(path);
});

test('a turn without a new connection ends at once', async () => {
  const first = new AcceptFirst();
  const calls: string[] = [];
  first.atTurnEnd(() => calls.push('end'));
  await turnEnd();
  expect(calls).toEqual(['end']);
});

test('connections that never stop postpone an end by 128 turns', async () => {
  const first = new AcceptFirst();
  let turns = 0;
  let isEnded = false;
  first.accepted();
  first.atTurnEnd(() => (isEnded = true));
  for (; !isEnded && turns < 1_000; turns++) {
    await turnEnd();
    first.accepted();
  }
  expect(turns).toBe(129);
});
