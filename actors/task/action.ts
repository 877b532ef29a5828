/**
 * Actions as code: what a user registers, and what the task actor's effects carry out. The data of
 * an action (ActionSpec) is made from it by `specOf`.
 */
import type { TSchema } from '@sinclair/typebox';
import { type ActionSpec, PAYLOAD_BYTES_DEFAULT, TRANSPORTS } from '../../protocols/action.ts';
import type { Address } from '../../protocols/address.ts';
import { type Envelope, parseAction, type Payload } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { ETA_SEC_DEFAULT } from '../../protocols/task.ts';
import type { Artifacts, Index } from '../../runtime/index.ts';

/** What the work of a task receives in addition to its payload. */
export type ActionContext = {
  readonly taskId: string;
  /** the same for all attempts: pass it to the service that must do the work once */
  readonly idempotencyKey: string;
  /** from 1 */
  readonly attempt: number;
  readonly tenant: string;
  readonly principal: { readonly sub: string; readonly roles: readonly string[] };
  /** as it came, its payload opened */
  readonly envelope: Envelope;
  /** aborted when the task is cancelled, its time is up, or the worker stops */
  readonly signal: AbortSignal;
  /** wall time, epoch milliseconds */
  now(): number;
  /** the inputs that answered `inputRequired`, oldest first */
  readonly inputs: readonly unknown[];
  /** the tenant's files; @throws TroupeError UNAVAILABLE where none are configured */
  readonly artifacts: Artifacts;
  /**
   * committed rows of the whole cell; in a cluster rows of other owners may lag a little, except
   * those of the named actor, which are as new as this call
   */
  index(asNewAs?: Address): Promise<Index>;
};

/** Resource links accompany a result (MCP 2025-06-18). */
export type ActionResult = {
  readonly result: unknown;
  readonly resource_links?: readonly { readonly uri: string; readonly name?: string }[];
};

const INPUT = Symbol.for('troupe.input-required');
export type InputRequired = {
  readonly [INPUT]: true;
  readonly for: 'input' | 'approval';
  readonly prompt: string;
  readonly schema?: Record<string, unknown>;
};
/**
 * Returned by the work: it needs input of the caller, and then runs again with it.
 *
 * @example
 * ```ts
 * import { type ActionOptions, inputRequired } from 'troupe/agents';
 *
 * const perform: ActionOptions['perform'] = async (payload, { inputs }) =>
 *   inputs.length === 0
 *     ? inputRequired({ for: 'input', prompt: 'How many?' })
 *     : { title: payload['title'], count: inputs[0] };
 * assert.equal(typeof perform, 'function');
 * ```
 */
export const inputRequired = (wanted: Omit<InputRequired, typeof INPUT>): InputRequired => ({
  [INPUT]: true,
  ...wanted,
});
export const isInputRequired = (value: unknown): value is InputRequired =>
  typeof value === 'object' && value !== null && INPUT in value;

const LINKED = Symbol.for('troupe.linked-result');
/**
 * A result with resource links.
 *
 * @example
 * ```ts
 * import { withLinks } from 'troupe/agents';
 *
 * const answer = withLinks({ pages: 3 }, [{ uri: 'https://example.com/report.pdf' }]);
 * assert.equal(answer.resource_links.length, 1);
 * ```
 */
export const withLinks = (result: unknown, links: ActionResult['resource_links']) => ({
  [LINKED]: true,
  result,
  resource_links: links ?? [],
});
export const isLinked = (value: unknown): value is Required<ActionResult> =>
  typeof value === 'object' && value !== null && LINKED in value;

export type Perform = (payload: Payload, context: ActionContext) => Promise<unknown>;

/**
 * Undoes what the work did, or may have done; its own key is `{idempotencyKey}.undo`. `result` is
 * what the work returned if that was not valid; absent if the work was not done, or its outcome is
 * unknown.
 */
export type Compensate = (
  payload: Payload,
  context: ActionContext,
  result: unknown,
) => Promise<unknown>;

export type ActionOptions = {
  /** `{domain}.{verb}_{object}` */
  readonly action: string;
  /** semantic version; a breaking change raises MAJOR */
  readonly version: string;
  readonly description: string;
  /** of the payload by its `schema_version`; further fields are refused where a schema says so */
  readonly schemas: Readonly<Record<string, TSchema>>;
  readonly result?: TSchema;
  /** the agent it belongs to */
  readonly agent: string;
  /**
   * `keyed` (default): the work may be tried again under one idempotency key; `once`: `reconcile`
   * determines a lost outcome, otherwise the task is UNKNOWN and an operator decides
   */
  readonly class?: 'keyed' | 'once';
  /**
   * Does the work. What it throws is tried again, but for a TroupeError of a code that no other
   * attempt would change (INVALID_ARGUMENT, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, EXPIRED,
   * PAYLOAD_TOO_LARGE, CANCELLED). Of class `once` a TroupeError says that the work was not done;
   * after any other throw its outcome is lost. With `details.compensated: true` it says that it
   * undid itself.
   */
  readonly perform?: Perform;
  /** instead of `perform`: the actor that does the work */
  readonly actor?: (envelope: Envelope, taskId: string) => Address;
  /** the actor is notified when the task is cancelled or expires, and then still answers */
  readonly withdraws?: boolean;
  readonly reconcile?: (
    payload: Payload,
    context: ActionContext,
  ) => Promise<{ readonly result: unknown } | 'again' | 'ask'>;
  readonly compensate?: Compensate;
  /** integer, seconds; default 300 */
  readonly etaSec?: number;
  readonly maxPayloadBytes?: number;
  /** the only tenant that it is offered to; default all */
  readonly tenant?: string;
  /**
   * The scope of an idempotency key: the caller (default), or all callers of the tenant, so that a
   * repeat by another caller gets the task of the first one.
   */
  readonly keyScope?: 'principal' | 'tenant';
  /**
   * any of them may request it, and may also read, cancel and give input to tasks of others;
   * default: every principal may request it, and only the caller and operators access the task
   */
  readonly roles?: readonly string[];
  /** attempts, 1 to 7; default 7 */
  readonly attemptsMax?: number;
  /** default { first: 1000, max: 60000 } */
  readonly backoffMs?: { readonly first: number; readonly max: number };
  /**
   * payloads are accepted sealed only, results are stored sealed, and of an error only its code is
   * reported. Its work cannot request input
   */
  readonly sensitive?: boolean;
  /** its result is an Evidence */
  readonly evidence?: boolean;
  /** RFC 3339: announced end of this MAJOR version */
  readonly sunsetAt?: string;
};
export type ActionDefinition = ActionOptions & { readonly kind: 'action' };

/**
 * Defines an action that other programs and agents may request; each request becomes a task.
 *
 * @throws TroupeError INVALID_ARGUMENT that names the action and what is wrong with it
 * @example
 * ```ts
 * import { Type } from '@sinclair/typebox';
 * import { defineAction } from 'troupe/agents';
 *
 * const sellPaper = defineAction({
 *   action: 'kiosk.sell_paper',
 *   version: '1.0.0',
 *   description: 'Sells a paper.',
 *   agent: 'kiosk',
 *   schemas: { '1.0': Type.Object({ title: Type.String() }) },
 *   perform: async ({ title }, { idempotencyKey }) => ({ title, receipt: idempotencyKey }),
 * });
 * assert.equal(sellPaper.kind, 'action');
 * ```
 */
export function defineAction(options: ActionOptions): ActionDefinition {
  const wrong = (what: string): never => {
    throw new TroupeError('INVALID_ARGUMENT', `the action ${options.action}: ${what}`);
  };
  if (parseAction(options.action).cancel) wrong('a name that ends in .cancel is made by itself');
  if ((options.perform === undefined) === (options.actor === undefined))
    wrong('give it either perform or actor');
  if (Object.keys(options.schemas).length === 0) wrong('give it the schema of its payload');
  if (options.class === 'once' && options.actor) wrong('class is of perform');
  if (options.sensitive && options.actor) wrong('a sealed payload is opened for perform only');
  if (options.sensitive && options.evidence)
    wrong('evidence is shown, and a sensitive result is not');
  if (options.reconcile && options.class !== 'once') wrong("only class 'once' is reconciled");
  return { ...options, kind: 'action' };
}

/** The action as data. */
export const specOf = (definition: ActionDefinition): ActionSpec => ({
  action: definition.action,
  action_version: definition.version,
  description: definition.description,
  transports: [...TRANSPORTS],
  max_payload_bytes: definition.maxPayloadBytes ?? PAYLOAD_BYTES_DEFAULT,
  eta_sec: definition.etaSec ?? ETA_SEC_DEFAULT,
  // TypeBox schemas are JSON Schemas with symbols, which JSON leaves out.
  schemas: JSON.parse(JSON.stringify(definition.schemas)) as ActionSpec['schemas'],
  ...(definition.result
    ? { result_schema: JSON.parse(JSON.stringify(definition.result)) as Record<string, unknown> }
    : {}),
  roles: [...(definition.roles ?? [])],
  ...(definition.keyScope ? { key_scope: definition.keyScope } : {}),
  compensable: definition.compensate !== undefined,
  sensitive: definition.sensitive ?? false,
  ...(definition.sunsetAt ? { sunset_at: definition.sunsetAt, deprecated: true } : {}),
});
