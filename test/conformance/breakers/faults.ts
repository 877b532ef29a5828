/** Building blocks of faults: they change requests and responses of an endpoint. */
import type { Envelope, Payload } from '../../../protocols/envelope.ts';
import { ERRORS, type ErrorCode } from '../../../protocols/errors.ts';
import { isFinal, type TaskView, type WireRefusal } from '../../../protocols/task.ts';
import type { Signer, Who } from '../../../conformance/trial.ts';
import { type Answered, type Asked, type Fault, objectIn } from './broken-server.ts';

/** What an endpoint knows about itself and its callers. */
export type Own = {
  readonly origin: string;
  readonly token: string;
  readonly who: Who;
  readonly external: Signer;
  readonly strangerToken: string;
};

export type Breaker = {
  /** id of the check */
  readonly breaks: string;
  /** the fault, as the rest of "an endpoint that …" */
  readonly how: string;
  /** Created for each endpoint, because a fault may keep state. */
  readonly fault: (own: Own) => Fault;
};

export const breakersOf = (
  rows: Readonly<Record<string, readonly [how: string, fault: (own: Own) => Fault]>>,
): readonly Breaker[] =>
  Object.entries(rows).map(([breaks, [how, fault]]) => ({ breaks, how, fault }));

// ---- requests

export const withEnvelope = (asked: Asked, envelope: object): Asked => ({
  ...asked,
  envelope: envelope as Envelope,
  body: Buffer.from(JSON.stringify(envelope)),
});

export const withHeader = (asked: Asked, name: string, value?: string): Asked => {
  const { [name]: _, ...others } = asked.headers;
  return { ...asked, headers: value === undefined ? others : { ...others, [name]: value } };
};

export const signatureOf = ({ headers }: Asked): string | undefined => headers['x-jws-signature'];
export const bears = ({ headers }: Asked, token: string): boolean =>
  headers['authorization'] === `Bearer ${token}`;

/** Changes envelopes in requests, except signed ones, which cannot be changed. */
export const incoming =
  (change: (envelope: Envelope, asked: Asked) => object): Fault =>
  (asked, pass) => {
    const { envelope } = asked;
    if (envelope === undefined || signatureOf(asked) !== undefined) return pass(asked);
    return pass(withEnvelope(asked, change(envelope, asked)));
  };

/** Changes the payload of envelopes that have one. */
export const payloads = (change: (payload: Payload, envelope: Envelope) => object): Fault =>
  incoming((envelope) =>
    envelope.payload === undefined
      ? envelope
      : { ...envelope, payload: change(envelope.payload, envelope) },
  );

/** The same request as one of a program that need not sign. */
export const asBasic = (asked: Asked, { token, who: { tenant, sub, roles } }: Own): Asked => {
  const envelope = { ...asked.envelope, tenant_id: tenant, principal: { sub, roles } };
  const unsigned = withHeader(asked, 'x-jws-signature');
  return withHeader(withEnvelope(unsigned, envelope), 'authorization', `Bearer ${token}`);
};

// ---- responses

export const say = (status: number, body: object, headers: Asked['headers'] = {}): Answered => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(body)),
});

export const refuse = (code: ErrorCode, details?: object): Answered =>
  say(ERRORS[code].http, {
    error: { code, message: 'refused', ...(details ? { details } : {}) },
  });

/** Changes JSON responses for which `change` returns a value. */
export const answers =
  (change: (body: object, asked: Asked, answer: Answered) => object | undefined): Fault =>
  async (asked, pass) => {
    const answer = await pass(asked);
    const body = objectIn(answer.body);
    const changed = body && change(body, asked, answer);
    return changed ? say(answer.status, changed, answer.headers) : answer;
  };

/** The task in a response. */
export const viewIn = (body: object): TaskView | undefined =>
  'task_id' in body && 'state' in body ? (body as TaskView) : undefined;

/** Changes tasks in all responses except streams. */
export const views = (change: (view: TaskView, asked: Asked) => object | undefined): Fault =>
  answers((body, asked) => {
    const view = viewIn(body);
    return view && change(view, asked);
  });

/** Changes tasks that have ended. */
export const ends = (change: (view: TaskView) => object | undefined): Fault =>
  views((view) => (isFinal(view.state) ? change(view) : undefined));

export const failed = (view: TaskView): object => ({
  ...view,
  state: 'FAILED',
  error: { code: 'UNAVAILABLE', message: 'it failed' },
});

/** Changes refusals. */
export const refusals = (change: (refusal: WireRefusal, asked: Asked) => object): Fault =>
  answers((body, asked) =>
    'error' in body && !viewIn(body) ? change(body as WireRefusal, asked) : undefined,
  );

export const codeIn = ({ body }: Answered): string | undefined =>
  (objectIn(body) as WireRefusal | undefined)?.error?.code;

/** Replaces the code of refusals where `isMeant`. */
export const recoded =
  (from: ErrorCode, code: ErrorCode, isMeant: (envelope: Envelope) => boolean): Fault =>
  async (asked, pass) => {
    const answer = await pass(asked);
    const { envelope } = asked;
    if (!envelope || codeIn(answer) !== from || !isMeant(envelope)) return answer;
    const { error, ...ids } = objectIn(answer.body) as WireRefusal;
    return say(ERRORS[code].http, { ...ids, error: { ...error, code } }, answer.headers);
  };
