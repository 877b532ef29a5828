/**
 * A cell that is started for one test of faults, with a scripted model, and the clients of the
 * test. It never outlives the test: the guard ends it when this process is killed.
 */
import { randomBytes } from 'node:crypto';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { operatorClient } from '../../../client/operator-client.ts';
import { Cell, type OtherProgram } from '../../../loadtest/faults/cell.ts';
import type { FaultTest } from '../../../loadtest/faults/run.ts';
import { Guard } from '../../../loadtest/guard.ts';
import type { ModelServer } from '../../../loadtest/model-server/server.ts';
import { Target } from '../../../loadtest/target.ts';
import { defined } from '../../../protocols/defined.ts';
import { version } from '../../version.ts';
import { bearerOf } from '../load-target.ts';
import { modelSettings } from '../model.ts';
import { configOf } from '../own-installation.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export type OwnCellOptions = {
  /** the program, as Node runs it */
  readonly script: string;
  readonly model: ModelServer;
  /** absent: embedded */
  readonly cluster?: { readonly nats: { readonly path: string }; readonly workers: number };
  /** another version of the program, for the fault `upgrade` */
  readonly other?: OtherProgram;
  /** A process ended by itself. */
  readonly onCrash: (name: string, how: string) => void;
};

export type OwnCell = {
  readonly cell: Cell;
  readonly client: GatewayClient;
  readonly programs: NonNullable<FaultTest['programs']>;
  /** Opens one more client. @param url default the cell's own */
  readonly connect: (url?: string) => GatewayClient;
  /** Ends all processes, closes all clients and removes the folder. */
  readonly stop: () => Promise<void>;
};

const SHARDS = 12;
/** More than the messages that wait in a session while it does not answer. */
const QUEUE_CAP = 1_000;
const HTTP_CONNECTIONS = 64;
/** Short, so that the pauses of a client do not count as the cell's. */
const BACKOFF_MS = { first: 50, most: 250 };
const HELLO_MS_MAX = 3_000;

/** @throws TroupeError UNAVAILABLE when it does not start, or has no room; CANCELLED by `signal` */
export async function startOwnCell(options: OwnCellOptions, signal: AbortSignal): Promise<OwnCell> {
  const { script, model, cluster, other, onCrash } = options;
  const folder = temporaryFolder('troupe-bench-faults-');
  const guard = new Guard(folder);
  const clients: { close: () => void }[] = [];
  let cell: Cell | undefined;
  const stop = async () => {
    for (const client of clients.splice(0)) client.close();
    await cell?.close();
    guard.close();
  };
  try {
    const token = randomBytes(24).toString('base64url');
    const config = configFor(model);
    const members = cluster && { natsServer: cluster.nats.path, workers: cluster.workers };
    const own = { folder, guard, script, token, config, onCrash, ...defined({ other }) };
    cell = await Cell.open({ ...own, ...(members && { cluster: members }) }, signal);
    const { url: ownUrl, home } = cell;
    const connect = (url = ownUrl): GatewayClient => {
      const lasting = { persistent: true, backoffMs: BACKOFF_MS, helloTimeoutMs: HELLO_MS_MAX };
      const client = operatorClient({ url, token, client: { version }, ...lasting });
      clients.push(client);
      client.connect();
      return client;
    };
    const client = connect();
    const bearer = await bearerOf(home, 'urn:troupe:a2a');
    const connections = { sockets: 1, connections: HTTP_CONNECTIONS };
    const target = await Target.open({
      url: ownUrl,
      bearer,
      connect: () => Promise.resolve(client),
      ...connections,
    });
    clients.push(target);
    const programs = { target, bearer, action: 'conformance.echo_payload' };
    return { cell, client, programs, connect, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Each message has its own run, and a full session refuses messages. */
const configFor = ({ baseUrl }: ModelServer): object => ({
  ...configOf(modelSettings(baseUrl)),
  cluster: { shards: SHARDS },
  messages: { queue: { mode: 'followup', cap: QUEUE_CAP, overflow: 'refuse' } },
});
