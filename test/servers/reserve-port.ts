/**
 * A port of 127.0.0.1 for a server that is not started yet, or never. While no server that the test
 * starts listens on it, a connection to it is refused.
 *
 * The system may assign a port that was free a moment ago to any socket. Therefore each reserved
 * port is the local port of a connection that this process keeps open: Linux assigns it to no other
 * socket, and still permits a server to listen on it explicitly.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

/** the other end of the connections; made by the first call */
let peer: Promise<Server> | undefined;

/** Reserved until this process ends. On systems other than Linux, free at the time of the call. */
export async function reservePort(): Promise<number> {
  peer ??= listening();
  const { port: to } = (await peer).address() as AddressInfo;
  const address = '127.0.0.1';
  const socket = connect({ port: to, host: address, localAddress: address, localPort: 0 });
  await once(socket, 'connect');
  const port = socket.localPort!;
  socket.unref();
  if (process.platform !== 'linux') {
    socket.destroy();
    await once(socket, 'close');
  }
  return port;
}

async function listening(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).unref());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.unref();
}
