import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { abortableBody, signalWithin } from '../../protocols/time-limit.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects garbage until the test ends, as a busy process does. */
const collectOften = (): void => {
  const timer = setInterval(collect, 10);
  onTestFinished(() => clearInterval(timer));
};

const reasonOf = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve((signal.reason as Error).name));
  });

// AbortSignal.any([signal, AbortSignal.timeout(ms)]) never aborts here, because the timeout is
// collected.
it('a time limit aborts although the garbage collector ran before', async () => {
  collectOften();
  expect(await reasonOf(signalWithin(new AbortController().signal, 200))).toBe('TimeoutError');
});

it('a time limit aborts with its caller', async () => {
  collectOften();
  const caller = new AbortController();
  const reason = reasonOf(signalWithin(caller.signal, 60_000));
  caller.abort(new DOMException('enough', 'AbortError'));
  expect(await reason).toBe('AbortError');
  expect(signalWithin(caller.signal, 60_000).aborted).toBe(true);
});

/** Sends the start of a body and never its end. */
const stallingServer = async (): Promise<Server> => {
  const server = createServer((_, response) => void response.write('{'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => server.closeAllConnections());
  return server;
};

// fetch forgets the signal of a Request that is collected: the read would wait for undici's 300 s.
it('a body that stalls fails when its signal aborts, and its connection ends', async () => {
  const server = await stallingServer();
  const closed = once(server, 'connection').then(([socket]) => once(socket as Socket, 'close'));
  const caller = new AbortController();
  const signal = signalWithin(caller.signal, 60_000);
  const { port } = server.address() as AddressInfo;
  const request = () => new Request(`http://127.0.0.1:${port}`, { signal });
  const response = abortableBody(await fetch(request()), signal);
  expect(response.status).toBe(200);
  collectOften();
  setTimeout(() => caller.abort(new DOMException('late', 'TimeoutError')), 300);
  await expect(response.text()).rejects.toMatchObject({ name: 'TimeoutError' });
  await closed;
});

it('a complete body is read', async () => {
  const { signal } = new AbortController();
  expect(await abortableBody(new Response('all of it'), signal).text()).toBe('all of it');
  expect(abortableBody(new Response(null), signal).body).toBe(null);
});
