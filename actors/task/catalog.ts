/**
 * ActionCatalog: the actions of this code, by name and MAJOR version. The same in every process of
 * a cell; what agents outside offer is in the registry.
 */
import { majorOf } from '../../protocols/action.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { TaskTerms } from '../../protocols/task.ts';
import { ATTEMPTS_MAX, ETA_SEC_DEFAULT, ETA_SEC_MAX } from '../../protocols/task.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import type { ActionDefinition } from './action.ts';

const BACKOFF_MS = { first: 1_000, max: 60_000 };

export class ActionCatalog {
  readonly #actions = new Map<string, ActionDefinition>();

  /** @throws TroupeError CONFLICT when a name and MAJOR version is there twice */
  constructor(definitions: readonly ActionDefinition[]) {
    for (const definition of definitions) {
      const key = keyOf(definition.action, definition.version);
      if (this.#actions.has(key))
        throw new TroupeError('CONFLICT', `the action ${key} is registered twice`);
      this.#actions.set(key, definition);
    }
  }

  /** The definition of this MAJOR version. */
  find(action: string, version: string): ActionDefinition | undefined {
    return this.#actions.get(keyOf(action, version));
  }

  all(): readonly ActionDefinition[] {
    return [...this.#actions.values()];
  }
}

const keyOf = (action: string, version: string) => `${action}@${majorOf(version)}`;

/**
 * Seconds that a task may take: those of its action, or more if the payload's `eta_sec` requests
 * it, up to a day.
 */
export function etaSecOf(offered: number, { payload }: Envelope): number {
  const { eta_sec: wanted } = payload;
  if (typeof wanted !== 'number' || !Number.isInteger(wanted)) return offered;
  return Math.max(offered, Math.min(wanted, ETA_SEC_MAX));
}

/** How a task of this action is performed. @param taskId names the actor that does the work */
export function termsOf(
  definition: ActionDefinition,
  envelope: Envelope,
  taskId: string,
): TaskTerms {
  const { actor, withdraws } = definition;
  return {
    performer: actor
      ? { kind: 'actor', to: actor(envelope, taskId), ...(withdraws ? { withdraws } : {}) }
      : { kind: 'function', class: definition.class ?? 'keyed' },
    agent: definition.agent,
    etaSec: etaSecOf(definition.etaSec ?? ETA_SEC_DEFAULT, envelope),
    attemptsMax: definition.attemptsMax ?? ATTEMPTS_MAX,
    backoffMs: definition.backoffMs ?? BACKOFF_MS,
    compensable: definition.compensate !== undefined,
    sensitive: definition.sensitive ?? false,
    evidence: definition.evidence ?? false,
  };
}
