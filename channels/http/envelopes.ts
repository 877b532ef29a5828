/**
 * `POST /v1/envelopes`: accepts an envelope and returns its answer. The Edge implements all rules.
 */
import { ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { ERRORS, TroupeError } from '../../protocols/errors.ts';
import { isFinal, type TaskView } from '../../protocols/task.ts';
import { envelopeTooLarge } from '../edge/checks.ts';
import type { Credentials, Edge, EdgeAnswer } from '../edge/edge.ts';
import {
  errorHeaders,
  header,
  jsonBytes,
  refusalOf,
  type Route,
  type RouteRequest,
  sendJson,
} from './route.ts';

export const envelopeRoutes = (edge: Pick<Edge, 'submit'>): readonly Route[] => [
  {
    method: 'POST',
    path: '/v1/envelopes',
    handle: async (incoming) => {
      const { request, response } = incoming;
      const bytes = await bodyOf(incoming);
      const answer = await edge.submit({
        ...credentialsOf(incoming),
        transport: 'http',
        bytes,
        traceparent: header(request, 'traceparent'),
        tracestate: header(request, 'tracestate'),
        ...(respondsAsync(header(request, 'prefer')) ? { waitMs: 0 } : {}),
      });
      if (answer.kind === 'task') sendTask(response, answer.view, rateHeaders(answer));
      else {
        const { error } = answer;
        const headers = { ...rateHeaders(answer), ...errorHeaders(error) };
        sendJson(response, ERRORS[error.code].http, refusalOf(error, answer), headers);
      }
    },
  },
];

/** @throws TroupeError PAYLOAD_TOO_LARGE, as over every transport */
const bodyOf = (incoming: RouteRequest): Promise<Uint8Array> =>
  jsonBytes(incoming, ENVELOPE_BYTES_MAX).catch((error: unknown) => {
    const isTooLarge = error instanceof TroupeError && error.code === 'PAYLOAD_TOO_LARGE';
    throw isTooLarge ? envelopeTooLarge() : error;
  });

/** The credentials of a request. */
export const credentialsOf = ({ request }: Pick<RouteRequest, 'request'>): Credentials => ({
  authorization: header(request, 'authorization'),
  signature: header(request, 'x-jws-signature'),
  transport: 'http',
});

/** 200 when the task has ended; otherwise 202 with its location and `retry-after`. */
export const sendTask = (
  response: RouteRequest['response'],
  view: TaskView,
  headers: Readonly<Record<string, string>> = {},
): void => {
  if (isFinal(view.state)) return sendJson(response, 200, view, headers);
  const where = { location: `/v1/tasks/${encodeURIComponent(view.task_id)}`, 'retry-after': '1' };
  sendJson(response, 202, view, { ...headers, ...where });
};

/** RFC 7240. */
export const respondsAsync = (prefer: string | undefined): boolean =>
  prefer !== undefined && /(^|,)\s*respond-async\s*(,|;|$)/i.test(prefer);

export const rateHeaders = ({ rate }: EdgeAnswer): Record<string, string> =>
  rate === undefined
    ? {}
    : {
        'x-ratelimit-limit': String(rate.limit),
        'x-ratelimit-remaining': String(rate.remaining),
      };
