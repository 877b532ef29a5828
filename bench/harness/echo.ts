/** The round trip of a frame over a bare WebSocket between two processes. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { WebSocket, WebSocketServer } from 'ws';
import { spread } from './statistics.ts';

/** The role of the other process: prints its port and echoes each frame. */
export async function serveEcho(): Promise<void> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(data));
  });
  process.stdout.write(`${(server.address() as { port: number }).port}\n`);
}

/** Milliseconds of each round trip of a frame as long as a request, one at a time. */
export async function rawEcho(count: number): Promise<{ p50: number; p99: number }> {
  const [bundle = ''] = process.argv.slice(1);
  const server = spawn(process.execPath, [bundle, 'echo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(server.stdout, 'data')) as [Buffer];
  const socket = new WebSocket(`ws://127.0.0.1:${port.toString().trim()}`, {
    perMessageDeflate: false,
  });
  await once(socket, 'open');
  const frame = JSON.stringify({ type: 'req', method: 'agent', params: 'x'.repeat(200) });
  const samples: number[] = [];
  for (let n = 0; n < count; n++) {
    const sent = performance.now();
    socket.send(frame);
    await once(socket, 'message');
    samples.push(performance.now() - sent);
  }
  socket.close();
  server.kill();
  return spread(samples);
}
