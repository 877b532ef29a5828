/**
 * Sealed results: the result of a sensitive action is stored like its payload, as a JWE to the
 * installation's own key. A reader with access to the task receives it decrypted; events to all
 * never contain it.
 *
 * The JWE is bound to the action's `done` event, so a client cannot submit a result as a payload.
 */
import type { Payload } from '../envelope.ts';
import {
  openPayload,
  type SealedFor,
  sealPayload,
  type SealingJwk,
  type SealingPrivateJwk,
} from './sealed.ts';
import { taskEvent, type TaskView } from '../task.ts';

/** The form in a task's `result`. */
export type SealedResult = { readonly jwe: string };
/** The encrypted content. */
export type OpenResult = Pick<TaskView, 'result' | 'resource_links'>;

const SCHEMA_VERSION = '1.0';

export const isSealedResult = (value: unknown): value is SealedResult =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<SealedResult>).jwe === 'string' &&
  Object.keys(value).length === 1;

/** @param belongsTo the envelope that requested the work */
export async function sealResult(
  value: OpenResult,
  publicJwk: SealingJwk,
  belongsTo: SealedFor,
): Promise<SealedResult> {
  const payload = { schema_version: SCHEMA_VERSION, ...value };
  const { jwe } = await sealPayload(payload, publicJwk, resultOf(belongsTo));
  return { jwe };
}

/**
 * The view for a reader with access to the task; unchanged when the result is not sealed.
 * @throws TroupeError see `openPayload`
 */
export async function openResult(
  view: TaskView,
  privateKeys: readonly SealingPrivateJwk[],
): Promise<TaskView> {
  const { tenant_id, action, principal: sub, result } = view;
  if (!isSealedResult(result)) return view;
  const sealed: Payload = { schema_version: SCHEMA_VERSION, jwe: result.jwe };
  const belongsTo = resultOf({ tenant_id, action, principal: { sub, roles: [] } });
  const { schema_version: _, ...opened } = await openPayload(sealed, privateKeys, belongsTo);
  return { ...view, ...(opened as OpenResult) };
}

/** The view in published events. */
export function withoutSealedResult(view: TaskView): TaskView {
  if (!isSealedResult(view.result)) return view;
  const { result: _, ...rest } = view;
  return rest;
}

const resultOf = ({ tenant_id, action, principal }: SealedFor): SealedFor => ({
  tenant_id,
  action: taskEvent(action, 'done'),
  principal,
});
