/**
 * Conformance agent: small actions that `troupe conformance` calls, each for one guarantee of the
 * envelope protocol. Only one tenant can use them, so other tenants do not see them and their
 * deliberate failures do not affect service level objectives. They leave behind counters under
 * their own keys, files without references, and evidence of jobs named `conformance-`.
 */
import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { artifactFields } from '../../protocols/artifact.ts';
import { type ErrorCode, ERRORS, TroupeError } from '../../protocols/errors.ts';
import {
  type ActionDefinition,
  type ActionOptions,
  defineAction,
  inputRequired,
} from '../../actors/task/action.ts';
import { counterAddress } from './counter-address.ts';
import { largePayload, verifyJob } from './files.ts';
import { checkUndone, runSlowly } from './slow.ts';

const AGENT = 'conformance';
/** The only tenant that may use the agent. */
export const CONFORMANCE_TENANT = 'conformance';
/** Checks wait for every attempt, so pauses are as short as possible. */
const SHORT_BACKOFF_MS = { first: 20, max: 200 };
/** Announced for a date that no correct clock has reached. */
const SUNSET_AT = '2099-12-31T00:00:00Z';
const SECONDS_MAX = 30;
const LARGE_PAYLOAD_BYTES_MAX = 4_096;

/** Its evidence proves nothing, so it refuses jobs of other agents. */
const JOB_ID = '^conformance-[A-Za-z0-9._-]{1,100}$';

const Text = Type.String({ maxLength: 1_048_576 });
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** The payload of schema version 1.0; additional fields are refused unless `open`. */
const payload = (fields: TProperties, open = false): Record<string, TSchema> => ({
  '1.0': Type.Object(
    {
      schema_version: Type.Literal('1.0'),
      subject: Type.Optional(Type.String({ maxLength: 256 })),
      ...fields,
    },
    { additionalProperties: open },
  ),
});
const result = (fields: TProperties) => Type.Object(fields, { additionalProperties: false });

type OwnOptions = Omit<ActionOptions, 'agent' | 'tenant' | 'version'> & { version?: string };
const action = (own: OwnOptions) =>
  defineAction({ version: '1.0.0', ...own, agent: AGENT, tenant: CONFORMANCE_TENANT });

/** Every action of the agent. */
export const conformanceActions = (): readonly ActionDefinition[] => [
  echoPayload(),
  countCall(),
  ...slowActions(),
  failAlways(),
  failOnce(),
  needInput(),
  ...oldActions(),
  secretText(),
  ...fileActions(),
];

const echoPayload = () =>
  action({
    action: 'conformance.echo_payload',
    version: '1.2.0',
    description: 'Ends at once; returns the payload.',
    schemas: payload({ text: Text }, true),
    perform: async (given) => given,
  });

const countCall = () =>
  action({
    action: 'conformance.count_call',
    description: 'Ends at once; returns how often the work was done for this key.',
    schemas: payload({}),
    result: result({ calls: Type.Integer({ minimum: 1 }) }),
    actor: counterAddress,
  });

const slowActions = () => [
  action({
    action: 'conformance.run_slowly',
    description: `Takes the given number of seconds. It can be cancelled and is then undone.`,
    schemas: payload({ seconds: Type.Number({ minimum: 0, maximum: SECONDS_MAX }) }),
    result: result({ seconds: Type.Number(), task_id: Type.String() }),
    etaSec: 2 * SECONDS_MAX,
    ...runSlowly,
  }),
  action({
    action: 'conformance.check_undone',
    description: 'Whether a task of conformance.run_slowly was undone.',
    schemas: payload({ task_id: Type.String({ minLength: 1, maxLength: 128 }) }),
    result: result({ undone: Type.Boolean() }),
    perform: checkUndone,
  }),
];

const Code = Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(ERRORS) });

const failAlways = () =>
  action({
    action: 'conformance.fail_always',
    description: 'Every attempt fails with the given code.',
    schemas: payload({ code: Code }),
    backoffMs: SHORT_BACKOFF_MS,
    perform: async ({ code }) => {
      throw new TroupeError(code as ErrorCode, `this work always fails with ${String(code)}`);
    },
  });

const failOnce = () =>
  action({
    action: 'conformance.fail_once',
    description: 'The first attempt fails with a retriable error, the second one succeeds.',
    schemas: payload({}),
    result: result({ attempt: Type.Integer() }),
    backoffMs: SHORT_BACKOFF_MS,
    perform: async (_, { attempt }) => {
      if (attempt === 1) throw new TroupeError('UNAVAILABLE', 'the first attempt always fails');
      return { attempt };
    },
  });

const needInput = () =>
  action({
    action: 'conformance.need_input',
    description: 'Waits for a name from its caller, and returns it.',
    schemas: payload({}),
    perform: async (_, { inputs }) => {
      if (inputs.length > 0) return { input: inputs[0] };
      return inputRequired({
        for: 'input',
        prompt: 'What is your name?',
        schema: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string', minLength: 1, maxLength: 256 } },
        },
      });
    },
  });

const oldActions = () =>
  [
    { version: '1.3.0', sunsetAt: SUNSET_AT, description: 'The MAJOR version that goes.' },
    { version: '2.0.0', description: 'The MAJOR version that is kept.' },
  ].map((own) =>
    action({
      action: 'conformance.old_action',
      ...own,
      schemas: payload({}),
      result: result({ version: Type.Literal(own.version) }),
      perform: async () => ({ version: own.version }),
    }),
  );

const secretText = () =>
  action({
    action: 'conformance.secret_text',
    description: 'Accepts sealed payloads only; returns the length of the text.',
    schemas: payload({ text: Text }),
    result: result({ characters: Type.Integer({ minimum: 0 }) }),
    sensitive: true,
    perform: async ({ text }) => ({ characters: String(text).length }),
  });

const fileActions = () => [
  action({
    action: 'conformance.large_payload',
    description: 'Accepts a short text, or a file by artifact_uri and artifact_hash.',
    schemas: payload({ text: Type.Optional(Text), ...artifactFields }),
    result: result({ bytes: Type.Integer({ minimum: 0 }), hash: Hash }),
    maxPayloadBytes: LARGE_PAYLOAD_BYTES_MAX,
    perform: largePayload,
  }),
  action({
    action: 'conformance.verify_job',
    description: 'Verifies a job, stores the findings as a file, and returns it as evidence.',
    schemas: payload({ job_id: Type.String({ pattern: JOB_ID }) }),
    evidence: true,
    perform: verifyJob,
  }),
];
