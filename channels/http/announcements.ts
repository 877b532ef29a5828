/**
 * `GET /v1/events`: deprecations of action versions (`{action}.deprecation`), for clients without
 * NATS. A stream starts with all current announcements, so that a client that was disconnected
 * misses none. Later ones follow when they are made, and daily.
 */
import {
  AGENTS_INDEX,
  type AgentRow,
  type Deprecation,
  deprecationsOf,
} from '../../protocols/action.ts';
import { entryPointEventsTopic } from '../../protocols/task.ts';
import type { Clock, System } from '../../runtime/index.ts';
import type { Identity } from '../edge/edge.ts';
import { credentialsOf } from './envelopes.ts';
import type { EventStreams, SentEvent } from './event-streams.ts';
import type { Route } from './route.ts';

export type AnnouncementRoutesOptions = {
  readonly system: Pick<System, 'bus' | 'index'>;
  readonly identity: Pick<Identity, 'authenticate'>;
  readonly streams: EventStreams;
  readonly clock: Clock;
};

/** Queued announcements for a client that does not read; beyond it the oldest are dropped. */
const WAITING_MAX = 1_000;

export const announcementRoutes = (options: AnnouncementRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/events',
    handle: async (incoming) => {
      const { tenant, sub } = await options.identity.authenticate(credentialsOf(incoming));
      const { signal } = incoming;
      await options.streams.send(incoming, `${tenant} ${sub}`, () =>
        announcements(options, tenant, signal),
      );
    },
  },
];

async function* announcements(
  { system: { bus, index }, clock }: AnnouncementRoutesOptions,
  tenant: string,
  signal: AbortSignal,
): AsyncIterable<SentEvent> {
  const waiting: Deprecation[] = [];
  let wake = () => {};
  // Subscribes before the rows are read, so that no announcement is missed.
  const unsubscribe = bus.subscribe(entryPointEventsTopic(tenant, '*'), ({ payload }) => {
    const { type: _, ...announced } = payload as Deprecation & { readonly type: string };
    if (waiting.push(announced) > WAITING_MAX) waiting.shift();
    wake();
  });
  const stop = () => wake();
  signal.addEventListener('abort', stop);
  try {
    const rows = index.list<AgentRow>(AGENTS_INDEX, tenant);
    waiting.unshift(...rows.flatMap(({ value }) => deprecationsOf(value, clock.wallMs())));
    while (!signal.aborted) {
      const next = waiting.shift();
      if (next) yield { event: next.event, data: next };
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal.removeEventListener('abort', stop);
    unsubscribe();
  }
}
