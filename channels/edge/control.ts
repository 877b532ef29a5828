/**
 * Control actions that the Edge itself answers, on every transport: `task.get_status`,
 * `task.provide_input`, and `{action}.cancel`.
 *
 * They refer to an existing task and create none. Control overtakes data: their `seq` is not
 * checked, and a cancel uses the control lane. A cancel may be repeated. An input is applied once
 * per idempotency key.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import {
  type ActionSpec,
  PAYLOAD_BYTES_DEFAULT,
  serves,
  TRANSPORTS,
} from '../../protocols/action.ts';
import { type CheckAnswer, checker } from '../../protocols/check.ts';
import { defined } from '../../protocols/defined.ts';
import { type Envelope, parseAction, type Payload } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { subjectOf, taskIdOf, type TaskScope } from '../../protocols/task.ts';
import { schemaFault } from './checks.ts';

const SCHEMA_VERSION = '1.0';
const closed = { additionalProperties: false } as const;
const version = Type.Literal(SCHEMA_VERSION);
const Id = Type.String({ minLength: 1, maxLength: 128 });
const Name = Type.String({ minLength: 1, maxLength: 256 });
const reason = Type.Optional(Type.String({ maxLength: 1_024 }));

const StatusPayload = Type.Object({ schema_version: version, task_id: Id }, closed);
const InputPayload = Type.Object(
  { schema_version: version, task_id: Id, input: Type.Unknown() },
  closed,
);
/** A task, named by its id or by the idempotency key of its request, which has the same subject. */
const CancelPayloadSchema = Type.Union([
  Type.Object({ schema_version: version, task_id: Id, reason }, closed),
  Type.Object(
    {
      schema_version: version,
      idempotency_key: Name,
      subject: Type.Optional(Type.String({ maxLength: 256 })),
      reason,
    },
    closed,
  ),
]);

const controlSpec = (action: string, description: string, schema: TSchema): ActionSpec => ({
  action,
  action_version: '1.0.0',
  description,
  transports: [...TRANSPORTS],
  max_payload_bytes: PAYLOAD_BYTES_DEFAULT,
  eta_sec: 1,
  schemas: { [SCHEMA_VERSION]: JSON.parse(JSON.stringify(schema)) as Record<string, unknown> },
  roles: [],
  compensable: false,
  sensitive: false,
});

/**
 * Actions that every Edge serves in addition to its offers; `{action}.cancel` follows from each
 * action.
 */
export const CONTROL_SPECS: readonly ActionSpec[] = [
  controlSpec('task.get_status', 'Returns the current task', StatusPayload),
  controlSpec('task.provide_input', 'Sends the input for which a task waits', InputPayload),
];

type TaskIds = readonly [string, ...string[]];
/** The request of a control envelope, for the first of `taskIds` that exists. */
export type Control =
  | { readonly kind: 'status'; readonly taskIds: TaskIds }
  | { readonly kind: 'input'; readonly taskIds: TaskIds; readonly input: unknown }
  | {
      readonly kind: 'cancel';
      readonly taskIds: TaskIds;
      /** required action of the task; a task of another action is not found */
      readonly action: string;
      readonly reason?: string;
    };

const checkStatus = checker(StatusPayload, { secret: /./ });
const checkInput = checker(InputPayload, { secret: /./ });
const checkCancel = checker(CancelPayloadSchema, { secret: /./ });

/**
 * Returns undefined when the envelope requests an offered action. @throws TroupeError
 * INVALID_ARGUMENT
 */
export const controlOf = (envelope: Envelope): Control | undefined => {
  const { action, action_version: wanted, payload } = envelope;
  const spec = CONTROL_SPECS.find((one) => one.action === action);
  if (spec !== undefined) {
    if (!serves(spec.action_version, wanted)) throw unsupported(spec, wanted);
    if (action === 'task.get_status')
      return { kind: 'status', taskIds: [fitting(checkStatus, payload).task_id] };
    const { task_id: taskId, input } = fitting(checkInput, payload);
    return { kind: 'input', taskIds: [taskId], input };
  }
  return action.endsWith('.cancel') ? cancelOf(envelope) : undefined;
};

const cancelOf = (envelope: Envelope): Control => {
  const { tenant_id: tenant, action, payload, principal } = envelope;
  const asked = fitting(checkCancel, payload);
  const { domain, verb, object } = parseAction(action);
  const cancelled = `${domain}.${verb}_${object}`;
  return {
    kind: 'cancel',
    taskIds:
      'task_id' in asked
        ? [asked.task_id]
        : idsOfKey(
            {
              tenant,
              action: cancelled,
              subject: subjectOf(envelope),
              key: asked.idempotency_key,
            },
            principal.sub,
          ),
    action: cancelled,
    ...defined({ reason: asked.reason }),
  };
};

/**
 * An idempotency key belongs to its caller or is shared by the tenant; the caller's own task comes
 * first.
 */
const idsOfKey = (scope: TaskScope, principal: string): TaskIds => [
  taskIdOf({ ...scope, principal }),
  taskIdOf(scope),
];

const fitting = <T>(check: (value: unknown) => CheckAnswer<T>, payload: Payload): T => {
  const answer = check(payload);
  if (answer.ok) return answer.value;
  throw schemaFault(
    'the payload is not valid',
    answer.errors.map((error) => ({ ...error, path: `/payload${error.path}` })),
  );
};

const unsupported = ({ action, action_version }: ActionSpec, wanted: string) =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${action} ${wanted} is not supported: use ${action_version}`,
    { details: { supported: [action_version] } },
  );
