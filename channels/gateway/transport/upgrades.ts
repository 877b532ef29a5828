/**
 * WebSocket upgrades of the gateway's port. The code that serves connections, with all methods, is
 * loaded with the first upgrade: a process that only runs agents and serves HTTP needs none of it.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LazyValue } from '../../../protocols/lazy-value.ts';
import type { InspectionSockets } from './inspection-sockets.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';
import type { SocketServer } from './socket-server.ts';

export const INSPECTION_PATH = '/v1/inspect';

/** What serves upgrades. */
export type Sockets = {
  readonly clients: SocketServer;
  readonly inspections: InspectionSockets;
};

export class Upgrades {
  readonly #loading: LazyValue<Sockets>;
  #sockets: Sockets | undefined;
  #isClosed = false;

  /** @param onFailure receives why the code cannot be loaded */
  constructor(load: () => Promise<Sockets>, onFailure: (error: unknown) => void) {
    this.#loading = new LazyValue(() =>
      load().catch((error: unknown) => {
        onFailure(error);
        throw error;
      }),
    );
  }

  /** For the HTTP server's `upgrade` event. Never rejects. */
  async serve(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const sockets = this.#sockets ?? (await this.#loaded(socket));
    // Its `close` event has passed, so what serves it would never end.
    if (socket.destroyed) return;
    if (sockets === undefined || this.#isClosed) return refuseUpgrade(socket, 503);
    const path = (request.url ?? '/').split(/[?#]/, 1)[0];
    if (path === INSPECTION_PATH) await sockets.inspections.upgrade(request, socket, head);
    else sockets.clients.upgrade(request, socket, head);
  }

  /** Closes all connections and refuses later ones; resolves when all are closed. */
  async close(reason: string): Promise<void> {
    this.#isClosed = true;
    const sockets = await this.#loading.made?.catch(() => undefined);
    sockets?.inspections.close();
    await sockets?.clients.close(reason);
  }

  /** Undefined when the code cannot be loaded; the next upgrade tries again. */
  async #loaded(socket: Socket): Promise<Sockets | undefined> {
    // Nothing else receives its errors before a server has it.
    const ignore = () => {};
    socket.on('error', ignore);
    this.#sockets = await this.#loading.get().catch(() => undefined);
    socket.off('error', ignore);
    return this.#sockets;
  }
}
