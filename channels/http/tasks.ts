/** `/v1/tasks`: reads a task and its events, cancels it, and sends it input. */
import { type CheckAnswer, checker } from '../../protocols/check.ts';
import { ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { Type } from '@sinclair/typebox';
import { schemaFault } from '../edge/checks.ts';
import type { Edge, Identity } from '../edge/edge.ts';
import { credentialsOf, sendTask } from './envelopes.ts';
import type { EventStreams } from './event-streams.ts';
import { header, jsonBytes, parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

const closed = { additionalProperties: false } as const;
const checkCancel = checker(
  Type.Object({ reason: Type.Optional(Type.String({ maxLength: 1_024 })) }, closed),
);
const checkInput = checker(Type.Object({ input: Type.Unknown() }, closed), { secret: /./ });

export type TaskRoutesOptions = {
  readonly edge: Edge;
  readonly identity: Pick<Identity, 'authenticate'>;
  readonly streams: EventStreams;
};

export const taskRoutes = (options: TaskRoutesOptions): readonly Route[] => [
  ...taskAnswers(options.edge),
  eventsOf(options),
];

const taskAnswers = (edge: Edge): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/tasks/{id}',
    handle: async (incoming) => {
      const view = await edge.task(incoming.params['id']!, credentialsOf(incoming));
      sendJson(incoming.response, 200, view);
    },
  },
  {
    method: 'POST',
    path: '/v1/tasks/{id}/cancel',
    handle: async (incoming) => {
      const { reason } = fitting(checkCancel, await json(incoming, {}));
      const view = await edge.cancel(incoming.params['id']!, credentialsOf(incoming), reason);
      sendTask(incoming.response, view);
    },
  },
  {
    method: 'POST',
    path: '/v1/tasks/{id}/input',
    handle: async (incoming) => {
      const { input } = fitting(checkInput, await json(incoming));
      const view = await edge.input(incoming.params['id']!, credentialsOf(incoming), input);
      sendTask(incoming.response, view);
    },
  },
];

/** @param empty value for a missing body */
const json = async (incoming: RouteRequest, empty?: unknown): Promise<unknown> => {
  const { headers } = incoming.request;
  const isEmpty = !headers['transfer-encoding'] && Number(headers['content-length'] ?? 0) === 0;
  if (isEmpty && empty !== undefined) return empty;
  return parseJson(await jsonBytes(incoming, ENVELOPE_BYTES_MAX));
};

const fitting = <T>(check: (value: unknown) => CheckAnswer<T>, body: unknown): T => {
  const answer = check(body);
  if (answer.ok) return answer.value;
  throw schemaFault('the body is not valid', answer.errors);
};

/**
 * The events of a task until it has ended. `id` is the event's number, so that a client that
 * reconnects with `Last-Event-ID` misses none.
 */
const eventsOf = ({ edge, identity, streams }: TaskRoutesOptions): Route => ({
  method: 'GET',
  path: '/v1/tasks/{id}/events',
  handle: async (incoming) => {
    const { request, params, signal } = incoming;
    const after = lastEventId(header(request, 'last-event-id'));
    const credentials = credentialsOf(incoming);
    const { tenant, sub } = await identity.authenticate(credentials);
    await edge.task(params['id']!, credentials);
    await streams.send(incoming, `${tenant} ${sub}`, async function* () {
      for await (const event of edge.events(params['id']!, credentials, { after, signal }))
        yield { id: event.n, event: event.event, data: event };
    });
  },
});

/** @throws TroupeError INVALID_ARGUMENT */
export const lastEventId = (text: string | undefined): number => {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'Last-Event-ID must be the number of an event, 1 or above, or be omitted',
  );
};
