/**
 * Offers: what can be asked for, as an edge sees it: the actions of this code and those of agents
 * outside, with their life in the registry (EN2, EN14, EN15).
 */
import type { ActionSpec } from './action.ts';
import type { CheckError } from './check.ts';
import type { Envelope } from './envelope.ts';
import type { ErrorData } from './errors.ts';
import type { TaskTerms } from './task.ts';

export type Offer = {
  readonly spec: ActionSpec;
  /**
   * Errors of a payload against the schema of its `schema_version`, with paths from `/payload`; []
   * when it fits. Values of sensitive payloads are never shown.
   */
  check(payload: Envelope['payload']): readonly CheckError[] | Promise<readonly CheckError[]>;
  terms(envelope: Envelope, taskId: string): TaskTerms;
};

export interface Offers {
  /**
   * `refused`: NOT_FOUND for an action that nobody offers; INVALID_ARGUMENT with
   * `details.supported` (versions) for a version that nobody serves or whose sunset has passed;
   * UNAVAILABLE when all who serve it are gone.
   */
  find(
    tenant: string,
    action: string,
    version: string,
  ): { readonly offer: Offer } | { readonly refused: ErrorData };
  /** Every spec on offer to the tenant, sorted by action and version. */
  all(tenant: string): readonly ActionSpec[];
}
