/**
 * Function calling: `GET /v1/functions` lists the functions that a model may call, and `POST
 * /v1/function-calls` executes calls. Each call becomes an envelope with the same answers.
 *
 * The envelopes are created here, so they have no signature of the caller. A caller under
 * A2A-External must send its own envelopes instead.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { checker, describeErrors } from '../../protocols/check.ts';
import { ENVELOPE_BYTES_MAX, type Envelope, EnvelopeSchema } from '../../protocols/envelope.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import {
  callable,
  type CallHead,
  envelopeOfCall,
  type FunctionCall,
  FunctionCallSchema,
  functionOf,
  type ToolMessage,
  toolMessageOf,
} from '../../protocols/models/function-call.ts';
import { isFinal, type TaskView, type WireRefusal } from '../../protocols/task.ts';
import type { Credentials, Edge, Identity } from '../edge/edge.ts';
import type { Offers } from '../../protocols/offers.ts';
import { credentialsOf } from './envelopes.ts';
import { jsonBytes, parseJson, refusalOf, type Route, sendJson } from './route.ts';

/** Maximum number of calls per request. */
const CALLS_MAX = 32;

export type FunctionRoutesOptions = {
  readonly edge: Pick<Edge, 'submit'>;
  readonly offers: Pick<Offers, 'all'>;
  readonly identity: Pick<Identity, 'authenticate'>;
};

const {
  version: _,
  action: __,
  action_version: ___,
  payload: ____,
  ...headFields
} = EnvelopeSchema.properties;
const FunctionCallsSchema = Type.Object(
  {
    call: Type.Optional(FunctionCallSchema),
    tool_calls: Type.Optional(Type.Array(FunctionCallSchema, { minItems: 1, maxItems: CALLS_MAX })),
    head: Type.Object(headFields, {
      additionalProperties: false,
      description:
        'of the envelopes: further calls take the next numbers of seq and keys made of idempotency_key and their ids',
    }),
  },
  { additionalProperties: false, title: 'FunctionCalls' },
);
type FunctionCalls = Static<typeof FunctionCallsSchema>;
const checkCalls = checker(FunctionCallsSchema, { secret: /arguments$/ });

export const functionRoutes = ({
  edge,
  offers,
  identity,
}: FunctionRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/functions',
    handle: async (incoming) => {
      const { tenant } = await identity.authenticate(credentialsOf(incoming));
      const functions = callable(offers.all(tenant)).map(functionOf);
      sendJson(incoming.response, 200, { tools: functions });
    },
  },
  {
    method: 'POST',
    path: '/v1/function-calls',
    handle: async (incoming) => {
      const credentials = credentialsOf(incoming);
      const { tenant } = await identity.authenticate(credentials);
      const { head, ...asked } = readCalls(await jsonBytes(incoming, ENVELOPE_BYTES_MAX));
      const calls = callsOf(asked);
      const specs = offers.all(tenant);
      const messages = await answerCalls(edge, credentials, calls, (call, at) =>
        envelopeOfCall(call, headOf(head, call, at), specs),
      );
      sendJson(incoming.response, 200, { messages });
    },
  },
];

function readCalls(bytes: Uint8Array): FunctionCalls {
  const answer = checkCalls(parseJson(bytes));
  if (answer.ok) return answer.value;
  const { errors } = answer;
  const message = `the function calls are not valid: ${describeErrors(errors)}`;
  throw new TroupeError('INVALID_ARGUMENT', message, { details: { errors } });
}

function callsOf({ call, tool_calls }: Omit<FunctionCalls, 'head'>): readonly FunctionCall[] {
  const calls = [...(call ? [call] : []), ...(tool_calls ?? [])];
  if (calls.length === 0)
    throw new TroupeError('INVALID_ARGUMENT', 'the request must contain call or tool_calls');
  if (new Set(calls.map(({ id }) => id)).size < calls.length)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'two calls have the same id: each call must have its own id',
    );
  return calls;
}

/** Derives the ids of a call, so that the same call sent again is the same request. */
const headOf = (head: CallHead, { id }: FunctionCall, at: number): CallHead => ({
  ...head,
  request_id: at === 0 ? head.request_id : uuidOf(head.request_id, id),
  idempotency_key: digestOf(head.idempotency_key, id),
  seq: head.seq + at,
});

const digestOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
/** RFC 9562, version 8. */
const uuidOf = (...parts: readonly string[]): string => {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/**
 * Submits the calls in sequence until each is accepted, because their `seq` rises. Then waits for
 * all of them together, at most as long as for a synchronous answer.
 */
async function answerCalls(
  edge: FunctionRoutesOptions['edge'],
  credentials: Credentials,
  calls: readonly FunctionCall[],
  envelopeOf: (call: FunctionCall, at: number) => Envelope,
): Promise<readonly ToolMessage[]> {
  const submit = async (envelope: Envelope, waitMs?: number): Promise<TaskView | WireRefusal> => {
    const bytes = new TextEncoder().encode(JSON.stringify(envelope));
    const wait = waitMs === undefined ? {} : { waitMs };
    const answer = await edge.submit({ ...credentials, transport: 'http', bytes, ...wait });
    return answer.kind === 'task' ? answer.view : refusalOf(answer.error);
  };
  const accepted: (() => Promise<TaskView | WireRefusal>)[] = [];
  for (const [at, call] of calls.entries()) {
    try {
      const envelope = envelopeOf(call, at);
      const answer = await submit(envelope, 0);
      const isRunning = 'task_id' in answer && !isFinal(answer.state);
      // Submits the same envelope again: it finds its task and waits for the end.
      accepted.push(() => (isRunning ? submit(envelope) : Promise.resolve(answer)));
    } catch (error) {
      const refusal = refusalOf(errorData(error));
      accepted.push(() => Promise.resolve(refusal));
    }
  }
  return Promise.all(accepted.map(async (end, at) => toolMessageOf(await end(), calls[at]!.id)));
}
