/**
 * A TCP proxy between a client and a server on this machine that simulates partitions: it can cut
 * connections, stall, delay and refuse. Each direction keeps the order of its bytes.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  /** on 127.0.0.1, for the client */
  readonly port: number;
  /** Destroys every connection, together with bytes that are still buffered. */
  cut(): void;
  /** From now on forwards no bytes; connections are accepted and stay open (half-open). */
  pause(): void;
  /** Forwards the buffered bytes and all later ones. */
  resume(): void;
  /** From now on each byte arrives later by this time, also after its sender has disconnected. */
  delay(ms: number): void;
  /** While true, new connections are closed at once. */
  refuse(refused: boolean): void;
  /** From now on, new connections lead to this port: the server was restarted on another one. */
  leadTo(target: number): void;
  close(): Promise<void>;
};

/** @param target the server's port on 127.0.0.1; 0: connections are refused until `leadTo` */
export const startTcpProxy = async (target: number): Promise<TcpProxy> => {
  let port = target;
  const sockets = new Set<Socket>();
  const gate = new Gate();
  let delayMs = 0;
  let refused = false;

  const add = (socket: Socket): Socket => {
    sockets.add(socket);
    // an error is followed by 'close', which ends the other side
    socket.setNoDelay(true).on('error', () => {});
    return socket.once('close', () => sockets.delete(socket));
  };

  const pass = (from: Socket, to: Socket): void => {
    let tail = Promise.resolve();
    const inTurn = (act: () => void): void => {
      const dueMs = performance.now() + delayMs;
      tail = tail
        .then(() => reached(dueMs))
        .then(() => gate.opened)
        .then(act);
    };
    from.on('data', (bytes) => inTurn(() => to.destroyed || to.write(bytes)));
    from.once('close', () => inTurn(() => to.destroySoon()));
  };

  const server = createServer((client) => {
    if (refused || port === 0) return void client.destroy();
    const upstream = add(connect(port, '127.0.0.1'));
    pass(add(client), upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    pause: () => gate.shut(),
    resume: () => gate.open(),
    delay: (ms) => void (delayMs = ms),
    refuse: (value) => void (refused = value),
    leadTo: (value) => void (port = value),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
};

class Gate {
  opened: Promise<void> = Promise.resolve();
  open: () => void = () => {};

  shut(): void {
    this.open();
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

const reached = (dueMs: number): Promise<void> | undefined => {
  const leftMs = dueMs - performance.now();
  return leftMs > 0 ? new Promise((resolve) => setTimeout(resolve, leftMs)) : undefined;
};
