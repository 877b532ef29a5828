/**
 * Offers: the actions that an edge can accept: those of this program and of external agents, with
 * their status in the registry.
 */
import type { ActionSpec } from './action.ts';
import type { CheckError } from './check.ts';
import type { Envelope } from './envelope.ts';
import type { ErrorData } from './errors.ts';
import type { TaskTerms } from './task.ts';

export type Offer = {
  readonly spec: ActionSpec;
  /**
   * Validates a payload against the schema of its `schema_version`. Paths start with `/payload`; []
   * when valid. Values of sensitive payloads are never included.
   */
  check(payload: Envelope['payload']): readonly CheckError[] | Promise<readonly CheckError[]>;
  terms(envelope: Envelope, taskId: string): TaskTerms;
};

export interface Offers {
  /**
   * `refused`: NOT_FOUND for an unknown action; INVALID_ARGUMENT with `details.supported`
   * (versions) for a version that no agent serves or whose sunset has passed; UNAVAILABLE when all
   * agents that serve it are gone.
   */
  find(
    tenant: string,
    action: string,
    version: string,
  ): { readonly offer: Offer } | { readonly refused: ErrorData };
  /** Every spec available to the tenant, sorted by action and version. */
  all(tenant: string): readonly ActionSpec[];
}
