/** What the views of actors use of the connection to the gateway. */
import type { PublishedChart } from '../../charts/published.ts';
import type { ActorTurn } from '../../protocols/actor-view.ts';

export type ActorsGateway = {
  /** Runs an operation of docs/operations.md. @throws TroupeError */
  operate<Result>(name: string, params?: object): Promise<Result>;
  /** Calls a method of the gateway. @throws TroupeError */
  request<Result>(method: string, params?: object): Promise<Result>;
  /** Calls `listen` for every event of the gateway; returns a function that ends it. */
  watch(listen: (event: string, payload: unknown) => void): () => void;
};

/** Payload of the event `actor.turn`. */
export type ActorTurnEvent = {
  readonly actor: string;
  readonly turn?: ActorTurn;
  /** turns before this one that the page did not receive */
  readonly missed?: number;
  /** why no more turns follow */
  readonly ended?: string;
};

const charts = new WeakMap<ActorsGateway, Map<string, Promise<PublishedChart>>>();

/** The chart of `type@version`; read once per connection. @throws TroupeError */
export function chartOf(gateway: ActorsGateway, machine: string): Promise<PublishedChart> {
  const known = charts.get(gateway) ?? new Map<string, Promise<PublishedChart>>();
  charts.set(gateway, known);
  const found = known.get(machine);
  if (found) return found;
  const [type = '', version] = machine.split('@');
  const reading = gateway.operate<PublishedChart>('charts.show', {
    type,
    version: Number(version),
  });
  known.set(machine, reading);
  reading.catch(() => known.delete(machine));
  return reading;
}
