/** Refuses an upgrade to WebSocket. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

/** Also ends a client that keeps its side open, which no time limit of HTTP covers any more. */
export function refuseUpgrade(socket: Socket, status: number): void {
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  socket.destroySoon();
}
