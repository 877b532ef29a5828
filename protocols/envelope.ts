/**
 * Message Envelope v2.2, wire version "1.0": the request format of the public entry points, over
 * HTTP and pub/sub.
 *
 * Routing data (to, lane, hops, reply-to) travels outside the envelope; unknown top-level fields
 * are refused. This file validates size and shape; `channels/edge/create-edge.ts` has the checks
 * that follow, and their order.
 */
import { type Static, Type } from '@sinclair/typebox';
import {
  checker,
  SemanticVersion,
  textMatching,
  TraceId,
  type CheckError,
  describeErrors,
} from './check.ts';
import { fromJson } from './codec.ts';
import { TroupeError } from './errors.ts';
import type { Message } from './statechart.ts';

/** Maximum size of an envelope as UTF-8 JSON; larger payloads are artifacts. */
export const ENVELOPE_BYTES_MAX = 1_048_576;
/** Shorter than the retention of idempotency keys, so that no duplicate outlives its key. */
export const ENVELOPE_TTL_SEC_MAX = 86_400;
/**
 * Below what a client sends by mistake, 2^53 - 1: nothing is above that, so it would be the last
 * one of its subject. Times in microseconds reach it in 2255.
 */
export const ENVELOPE_SEQ_MAX = 9_000_000_000_000_000;
export const ENVELOPE_RESOURCE_LINKS_MAX = 100;
export const ENVELOPE_ROLES_MAX = 64;

/** Field names that a payload must not use, because the message has them (statechart.ts). */
export const PAYLOAD_RESERVED = ['type', 'meta'] as const;

const ACTION = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9]*(_[a-z0-9]+)+(\.cancel)?$/;
const ACTION_CHARACTERS_MAX = 128;
const ActionName = textMatching(
  ACTION,
  'an action name {domain}.{verb}_{object}, as agent_data.update_document',
  {
    maxLength: ACTION_CHARACTERS_MAX,
  },
);
const isAction = (text: string) => text.length <= ACTION_CHARACTERS_MAX && ACTION.test(text);

const closed = { additionalProperties: false } as const;
const Uuid = Type.String({ format: 'uuid' });
const Name = Type.String({ minLength: 1, maxLength: 256 });

/** A resource link as defined by MCP (2025-06-18 and later). Additional fields are allowed. */
const ResourceLink = Type.Object({
  uri: Type.String({ minLength: 1, maxLength: 4096 }),
  name: Type.Optional(Name),
});

export const EnvelopeSchema = Type.Object(
  {
    version: Type.Literal('1.0'),
    request_id: Uuid,
    correlation_id: Uuid,
    causation_id: Type.Union([Uuid, Type.Null()], {
      description: 'The message that caused this one; null at a root',
    }),
    trace_id: TraceId,
    tenant_id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    principal: Type.Object(
      { sub: Name, roles: Type.Array(Name, { maxItems: ENVELOPE_ROLES_MAX }) },
      closed,
    ),
    timestamp: Type.String({ format: 'date-time' }),
    ttl_sec: Type.Integer({ minimum: 1, maximum: ENVELOPE_TTL_SEC_MAX }),
    idempotency_key: Name,
    seq: Type.Integer({
      minimum: 1,
      maximum: ENVELOPE_SEQ_MAX,
      description: 'Increases per tenant, sender and subject, such as the time in milliseconds',
    }),
    action: ActionName,
    action_version: SemanticVersion,
    payload: Type.Object(
      { schema_version: Type.String({ pattern: '^[0-9]+\\.[0-9]+(\\.[0-9]+)?$' }) },
      { description: 'The fields that the action defines; none is named type or meta' },
    ),
    context_id: Type.Optional(Name),
    data_locality: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    resource_links: Type.Optional(
      Type.Array(ResourceLink, { maxItems: ENVELOPE_RESOURCE_LINKS_MAX }),
    ),
  },
  { ...closed, $id: 'urn:troupe:envelope:1.0', title: 'Message Envelope v2.2' },
);

type Checked = Static<typeof EnvelopeSchema>;
/** The other fields depend on (action, MAJOR of action_version, schema_version). */
export type Payload = Checked['payload'] & { readonly [field: string]: unknown };
export type Envelope = Omit<Checked, 'payload'> & { payload: Payload };

export type EnvelopeAnswer =
  | { readonly ok: true; readonly envelope: Envelope }
  | { readonly ok: false; readonly errors: readonly CheckError[] };

// Payloads may be sensitive: an error never contains a payload's value.
const checkShape = checker(EnvelopeSchema, { secret: /^\/payload/ });

/** Validates the shape of a parsed envelope. Compiled on first use. */
export const checkEnvelope = (value: unknown): EnvelopeAnswer => {
  const answer = checkShape(value);
  if (!answer.ok) return answer;
  const envelope: Envelope = answer.value;
  const reserved = PAYLOAD_RESERVED.filter((field) => Object.hasOwn(envelope.payload, field));
  if (reserved.length === 0) return { ok: true, envelope };
  const message = 'is reserved: every message has its own field of this name';
  return { ok: false, errors: reserved.map((field) => ({ path: `/payload/${field}`, message })) };
};

/**
 * Parses and validates an envelope; the size is checked first.
 * @throws TroupeError PAYLOAD_TOO_LARGE; INVALID_ARGUMENT with `details.errors` from
 * `checkEnvelope`
 */
export const readEnvelope = (text: string | Uint8Array): Envelope => {
  const answer = checkEnvelope(fromJson(text, ENVELOPE_BYTES_MAX));
  if (answer.ok) return answer.envelope;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the envelope is not valid: ${describeErrors(answer.errors)}`,
    {
      details: { errors: answer.errors },
    },
  );
};

/** How the name of a task's event ends, in their possible order. */
export type EventSuffix = 'accepted' | 'running' | 'done' | 'cancelled' | 'compensated';

export type ActionParts = {
  readonly domain: string;
  readonly verb: string;
  /** may contain several words */
  readonly object: string;
  /** `{action}.cancel`: requests cancellation of a task of the action */
  readonly cancel: boolean;
};

/** @throws TroupeError INVALID_ARGUMENT when the text is not an action name */
export const parseAction = (action: string): ActionParts => {
  if (!isAction(action)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${JSON.stringify(action.slice(0, 80))} is not an action name: write {domain}.{verb}_{object}`,
    );
  }
  const [domain = '', name = '', cancel] = action.split('.');
  const at = name.indexOf('_');
  return {
    domain,
    verb: name.slice(0, at),
    object: name.slice(at + 1),
    cancel: cancel !== undefined,
  };
};

/** The message an actor receives: the action is its type, and the payload's fields follow. */
export const envelopeToMessage = ({ action, payload }: Envelope): Message => ({
  ...payload,
  type: action,
});

/** The envelope's fields that are not in its message. */
export type EnvelopeHead = Omit<Envelope, 'version' | 'action' | 'payload'>;
