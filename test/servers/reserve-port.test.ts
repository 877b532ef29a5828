import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { reservePort } from './reserve-port.ts';

const attempt = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve('connected');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

const LISTEN = `require('node:net').createServer().listen(+process.argv[1], process.argv[2], () =>
  console.log('listening'))`;

it('refuses connections until another process listens, and after that one is killed', async () => {
  const port = await reservePort();
  expect(await attempt(port)).toBe('ECONNREFUSED');
  for (const host of ['127.0.0.1', '0.0.0.0', '127.0.0.1']) {
    const child = spawn(process.execPath, ['-e', LISTEN, `${port}`, host], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    expect(await attempt(port)).toBe('connected');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await attempt(port)).toBe('ECONNREFUSED');
  }
});

// Ports that were only free a moment ago are assigned again: 400 further sockets meet one of 200
// such ports in all but a few of a thousand runs.
it.skipIf(process.platform !== 'linux')('is assigned to no other socket', async () => {
  const reserved = await Promise.all(Array.from({ length: 200 }, reservePort));
  expect(new Set(reserved).size).toBe(reserved.length);
  const assigned = new Set<number>();
  const servers: Server[] = [];
  for (let i = 0; i < 400; i++) {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    assigned.add((server.address() as { port: number }).port);
    servers.push(server);
  }
  for (const server of servers) server.close();
  expect(reserved.filter((port) => assigned.has(port))).toEqual([]);
});
