/**
 * Sealed results (EN22): what the work of a sensitive action returns is stored as its payload is:
 * as a JWE to the installation's own key. Whoever may read the task is shown it opened; what is
 * told of the task to all never holds it.
 *
 * Its binding names the action's `done` event, so that no result can be sent in as a payload.
 */
import type { Payload } from './envelope.ts';
import {
  openPayload,
  type SealedFor,
  sealPayload,
  type SealingJwk,
  type SealingPrivateJwk,
} from './sealed.ts';
import { taskEvent, type TaskView } from './task.ts';

/** As it stands in a task's `result`. */
export type SealedResult = { readonly jwe: string };
/** What is sealed. */
export type OpenResult = Pick<TaskView, 'result' | 'resource_links'>;

const SCHEMA_VERSION = '1.0';

export const isSealedResult = (value: unknown): value is SealedResult =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<SealedResult>).jwe === 'string' &&
  Object.keys(value).length === 1;

/** @param belongsTo the envelope that asked for the work */
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
 * The view as who may read the task sees it; as it is when its result is not sealed.
 * @throws TroupeError as of `openPayload`
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

/** The view as it is told to all. */
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
