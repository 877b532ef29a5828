/** Envelope validation. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { schemaTable } from '../../protocols/openapi/documents.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import type { WireRefusal } from '../../protocols/task.ts';
import { type Check, checksOf } from '../check.ts';
import { Skipped, type Trial } from '../trial.ts';

const REQUIRED = [
  'version',
  'request_id',
  'correlation_id',
  'causation_id',
  'trace_id',
  'tenant_id',
  'principal',
  'timestamp',
  'ttl_sec',
  'idempotency_key',
  'seq',
  'action',
  'action_version',
  'payload',
] as const satisfies readonly (keyof Envelope)[];

const WRONG: readonly (readonly [field: string, value: unknown])[] = [
  ['version', '2.0'],
  ['request_id', 'seven'],
  ['trace_id', '0'.repeat(32)],
  ['timestamp', 'yesterday'],
  ['ttl_sec', 0],
  ['seq', 0],
  ['seq', 1.5],
  ['action', 'update'],
  ['action_version', '1'],
  ['principal', { sub: '' }],
  ['payload', {}],
];

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);

/** A check of a published shape. It is compiled when it is first needed, which takes 40 ms. */
function publishedShape(name: string): (value: unknown) => string | undefined {
  let isValid: ValidateFunction | undefined;
  return (value) => {
    isValid ??= ajv.compile({ $defs: schemaTable(), $ref: `#/$defs/${name}` });
    return isValid(value) ? undefined : ajv.errorsText(isValid.errors);
  };
}
const faultsOfTask = publishedShape('Task');
const faultsOfRefusal = publishedShape('Refusal');

const pathsOf = (body: unknown): string[] => {
  const { error } = body as { error?: { details?: { errors?: { path?: string }[] } } };
  return (error?.details?.errors ?? []).map(({ path }) => path ?? '');
};

async function eachRefused(trial: Trial, spoiled: [string, object][]): Promise<void> {
  for (const [field, envelope] of spoiled) {
    const what = `an envelope with a wrong or missing ${field}`;
    const { reply } = await trial.refused(envelope, 'INVALID_ARGUMENT', what);
    const named = pathsOf(reply.body).some((path) => path.startsWith(`/${field}`));
    trial.expect(named, `${what}: the error names /${field} in details.errors[].path`, reply);
  }
}

export const envelopeChecks: readonly Check[] = checksOf('envelope', {
  'envelope.good': [
    'a valid envelope becomes a task whose view matches the published schema and has the envelope’s ids',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'hello' });
      const view = await t.ended(await t.accepted(envelope));
      const faults = faultsOfTask(view);
      t.expect(!faults, `the task has the published shape (${faults})`, view);
      t.expect(view.state === 'SUCCEEDED', 'it succeeds', view);
      const same = (['request_id', 'correlation_id', 'trace_id', 'tenant_id'] as const).filter(
        (field) => view[field] !== envelope[field],
      );
      t.expect(same.length === 0, `the task carries the envelope’s ${same.join(', ')}`, view);
    },
  ],
  'envelope.required': [
    'an envelope without a required field is refused, and the error names the field',
    (t) => {
      const good = t.envelope(t.action('echo'), { text: 'x' });
      const without = (field: string) =>
        Object.fromEntries(Object.entries(good).filter(([key]) => key !== field));
      return eachRefused(
        t,
        REQUIRED.map((field) => [field, without(field)]),
      );
    },
  ],
  'envelope.wrong': [
    'an invalid field is refused, and the error names the field',
    (t) => {
      const good = t.envelope(t.action('echo'), { text: 'x' });
      return eachRefused(
        t,
        WRONG.map(([field, value]) => [field, { ...good, [field]: value }]),
      );
    },
  ],
  'envelope.unknown-field': [
    'an unknown field of the envelope is refused',
    async (t) => {
      const envelope = { ...t.envelope(t.action('echo'), { text: 'x' }), reply_to: 'me' };
      await t.refused(envelope, 'INVALID_ARGUMENT', 'an unknown top-level field');
    },
  ],
  'envelope.payload-schema': [
    'a payload that does not match its schema is refused, and the error names the field',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 42 });
      const { reply } = await t.refused(
        envelope,
        'INVALID_ARGUMENT',
        'a payload of the wrong form',
      );
      const named = pathsOf(reply.body).some((path) => path.startsWith('/payload/text'));
      t.expect(named, 'the error names /payload/text in details.errors[].path', reply);
    },
  ],
  'envelope.schema-version': [
    'a schema_version that the action does not support is refused',
    async (t) => {
      const good = t.envelope(t.action('echo'), { text: 'x' });
      const envelope = { ...good, payload: { ...good.payload, schema_version: '99.0' } };
      await t.refused(envelope, 'INVALID_ARGUMENT', 'an unknown schema_version');
    },
  ],
  'envelope.not-json': [
    'a body that is not JSON is refused with the published error, without a stack trace',
    async (t) => {
      for (const text of ['{', '', '[]', 'null', '\u0000', '{"version":']) {
        const { reply } = await t.refused(text, 'INVALID_ARGUMENT', JSON.stringify(text));
        const faults = faultsOfRefusal(reply.body);
        t.expect(!faults, `the refusal has the published shape (${faults})`, reply);
        const shown = JSON.stringify(reply.body);
        t.expect(!/\bat \S+ \(?\S+:\d+:\d+/.test(shown), 'no stack trace is shown', reply);
      }
    },
  ],
  'envelope.size': [
    'an envelope above 1 MiB is refused',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'x'.repeat(1_100_000) });
      const { bytesMax = Number.POSITIVE_INFINITY } = t.endpoint;
      if (JSON.stringify(envelope).length > bytesMax)
        throw new Skipped(`nothing above ${bytesMax} bytes gets there (max_payload of NATS)`);
      await t.refused(envelope, 'PAYLOAD_TOO_LARGE', 'an envelope of 1.1 MB');
    },
  ],
  'envelope.ids-echoed': [
    'a refusal contains the request_id and trace_id of the refused envelope',
    async (t) => {
      const envelope = t.envelope('conformance.no_such_action');
      const reply = await t.send(envelope);
      t.expect(reply.status >= 400, 'an unknown action is refused', reply);
      const { request_id, trace_id } = reply.body as WireRefusal;
      t.expect(request_id === envelope.request_id, 'request_id is echoed', reply);
      t.expect(trace_id === envelope.trace_id, 'trace_id is echoed', reply);
    },
  ],
});
