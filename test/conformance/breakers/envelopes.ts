/** Endpoints that break the rules about envelopes, repeats, order and time. */
import { createHash, randomUUID } from 'node:crypto';
import { type Envelope, EnvelopeSchema } from '../../../protocols/envelope.ts';
import { subjectOf } from '../../../protocols/task.ts';
import type { Fault } from './broken-server.ts';
import { breakersOf, incoming, payloads, refusals, refuse, views, withEnvelope } from './faults.ts';

const ANOTHER_ID = '11111111-1111-4111-8111-111111111111';

export const envelopeBreakers = breakersOf({
  'envelope.good': [
    'replaces the correlation_id of tasks',
    () => views((view) => ({ ...view, correlation_id: ANOTHER_ID })),
  ],
  'envelope.required': [
    'accepts envelopes without causation_id',
    () => incoming((envelope) => Object.assign({ causation_id: null }, envelope)),
  ],
  'envelope.wrong': [
    'replaces a ttl of 0 by its default',
    () =>
      incoming((envelope) => (envelope.ttl_sec === 0 ? { ...envelope, ttl_sec: 60 } : envelope)),
  ],
  'envelope.unknown-field': [
    'drops fields that it does not know',
    () =>
      incoming((envelope) =>
        Object.fromEntries(
          Object.entries(envelope).filter(([field]) => field in EnvelopeSchema.properties),
        ),
      ),
  ],
  'envelope.payload-schema': [
    'converts numbers to strings where a string is required',
    () =>
      payloads((payload) =>
        typeof payload['text'] === 'number'
          ? { ...payload, text: String(payload['text']) }
          : payload,
      ),
  ],
  'envelope.schema-version': [
    'accepts any schema_version',
    () =>
      payloads((payload) =>
        'schema_version' in payload ? { ...payload, schema_version: '1.0' } : payload,
      ),
  ],
  'envelope.not-json': [
    'shows a stack trace of its parser',
    () =>
      refusals(({ error, ...ids }, { envelope }) => {
        const message = `${error.message}\n    at parse (edge.js:12:34)`;
        return { ...ids, error: envelope === undefined ? { ...error, message } : error };
      }),
  ],
  'envelope.size': [
    'truncates payloads that are too large',
    () =>
      payloads((payload) =>
        String(payload['text']).length > 2 ** 20 ? { ...payload, text: 'cut' } : payload,
      ),
  ],
  'envelope.ids-echoed': [
    'answers refusals with another request_id',
    () => refusals((refusal) => ({ ...refusal, request_id: ANOTHER_ID })),
  ],
});

const scopeOf = (envelope: Envelope): string =>
  JSON.stringify([envelope.action, subjectOf(envelope), envelope.idempotency_key]);

/** Replaces an envelope by the one that was accepted before under the same `place`. */
const firstOf =
  (place: (envelope: Envelope) => string, isOther: (a: Envelope, b: Envelope) => boolean) =>
  (): Fault => {
    const firsts = new Map<string, Envelope>();
    return async (asked, pass) => {
      const { envelope } = asked;
      if (envelope?.payload === undefined) return pass(asked);
      const first = firsts.get(place(envelope));
      if (first && isOther(first, envelope)) return pass(withEnvelope(asked, first));
      const answer = await pass(asked);
      if (answer.status < 300) firsts.set(place(envelope), envelope);
      return answer;
    };
  };

export const idempotencyBreakers = breakersOf({
  'idempotency.same': [
    'recognizes repeats by their request_id in addition to their key',
    () =>
      incoming((envelope) => {
        const { idempotency_key: key, request_id } = envelope;
        if (key === undefined || request_id === undefined) return envelope;
        const idempotency_key = createHash('sha256')
          .update(key + request_id)
          .digest('hex');
        return { ...envelope, idempotency_key };
      }),
  ],
  'idempotency.conflict': [
    'answers a known key with the first result, whatever the payload',
    firstOf(scopeOf, (a, b) => JSON.stringify(a.payload) !== JSON.stringify(b.payload)),
  ],
  'idempotency.at-once': [
    'stores a key only after its first envelope was answered',
    () => {
      const underWay = new Set<string>();
      return async (asked, pass) => {
        const { envelope } = asked;
        if (envelope?.payload === undefined) return pass(asked);
        const scope = scopeOf(envelope);
        if (underWay.has(scope))
          return pass(withEnvelope(asked, { ...envelope, idempotency_key: randomUUID() }));
        underWay.add(scope);
        return pass(asked).finally(() => underWay.delete(scope));
      };
    },
  ],
  'idempotency.scope': [
    'uses one key space for all subjects',
    firstOf(
      ({ action, idempotency_key }) => JSON.stringify([action, idempotency_key]),
      (a, b) => subjectOf(a) !== subjectOf(b),
    ),
  ],
});

type Seen = { readonly seq: number; readonly subject: string; readonly major: string };

/** Refuses a number where `isRefused`, given the last accepted one of its `place`. */
const numbered =
  (place: (seen: Seen) => unknown, isRefused: (last: Seen, now: Seen) => boolean) => (): Fault => {
    const lasts = new Map<string, Seen>();
    return async (asked, pass) => {
      const subject = asked.envelope?.payload?.['subject'];
      const { seq = 0, action_version: version, principal } = asked.envelope ?? {};
      if (typeof subject !== 'string' || version === undefined) return pass(asked);
      const now = { seq, subject, major: version.split('.', 1)[0] ?? '' };
      const of = JSON.stringify([principal?.sub, place(now)]);
      const last = lasts.get(of);
      if (last && isRefused(last, now)) return refuse('CONFLICT', { last_seq: last.seq });
      const answer = await pass(asked);
      if (answer.status < 300 && seq > (last?.seq ?? 0)) lasts.set(of, now);
      return answer;
    };
  };
/** The first characters of a subject; the rest distinguishes the subjects of the check. */
const SUBJECT_CUT = 48;
const ofStream = ({ subject, major }: Seen) => [subject, major];

export const orderBreakers = breakersOf({
  'order.lower': [
    'does not return the last sequence number',
    () =>
      refusals(({ error, ...ids }) => {
        const { last_seq: _, ...details } = error.details ?? {};
        return { ...ids, error: { ...error, details } };
      }),
  ],
  'order.gap': [
    'refuses gaps in sequence numbers',
    numbered(ofStream, (last, now) => now.seq > last.seq + 1),
  ],
  'order.subject': [
    'shares sequence numbers between subjects with a common prefix',
    numbered(
      ({ subject }) => subject.slice(0, SUBJECT_CUT),
      (last, now) => now.seq <= last.seq && now.subject !== last.subject,
    ),
  ],
  'order.major': [
    'shares sequence numbers between versions',
    numbered(
      ({ subject }) => subject,
      (last, now) => now.seq <= last.seq && now.major !== last.major,
    ),
  ],
  'order.idempotency-first': [
    'checks the sequence number before the key',
    numbered(ofStream, (last, now) => now.seq < last.seq),
  ],
});

const endOf = ({ timestamp, ttl_sec }: Envelope): number => Date.parse(timestamp) + ttl_sec * 1_000;
const isOver = (envelope: Envelope): boolean =>
  envelope.ttl_sec > 0 && endOf(envelope) < Date.now();
const refreshed = (envelope: Envelope): object => ({
  ...envelope,
  timestamp: new Date().toISOString(),
});

export const ttlBreakers = breakersOf({
  'ttl.passed': [
    'measures the time to live from the receipt of the envelope',
    () => incoming((envelope) => (isOver(envelope) ? refreshed(envelope) : envelope)),
  ],
  'ttl.future': [
    'accepts timestamps of tomorrow',
    () =>
      incoming((envelope) =>
        Date.parse(envelope.timestamp) > Date.now() + 60_000 ? refreshed(envelope) : envelope,
      ),
  ],
  'ttl.repeat': [
    'checks the time to live before the key',
    () => async (asked, pass) =>
      asked.envelope && isOver(asked.envelope) ? refuse('EXPIRED') : pass(asked),
  ],
});
