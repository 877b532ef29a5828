/** `troupe actors watch`: prints the turns of an actor as they are committed. */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { turnText } from '../../operations/actor-history.ts';
import { gatewayStream } from '../client/gateway-stream.ts';
import { exitCodes } from '../exit.ts';
import type { TenantClientOptions } from '../options.ts';
import { untilSignal } from '../processes/signals.ts';

export type WatchOptions = TenantClientOptions & { readonly turns?: number };

/** Prints turns until a signal, until `turns` turns are printed, or until the gateway stops. */
export async function watch(actor: string, options: WatchOptions): Promise<number> {
  const { tenant, json, turns = Number.POSITIVE_INFINITY } = options;
  const stopped = untilSignal();
  const query = tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
  const path = `/v1/actors/${encodeURIComponent(actor)}/turns${query}`;
  const stream = await gatewayStream<ActorTurn>(options, path, stopped);
  let left = turns;
  for await (const turn of stream) {
    process.stdout.write(`${json ? JSON.stringify(turn) : lineOf(turn)}\n`);
    if (--left <= 0) return exitCodes.ok;
  }
  return stopped.aborted ? exitCodes.interrupted : exitCodes.unreachable;
}

const lineOf = (turn: ActorTurn): string =>
  `${new Date(turn.at).toISOString().slice(11, 23)}  ${turnText(turn)}`;
