/** What the work of an action is given, and where its definition is found. */
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import type { ActionContext, ActionDefinition } from '../action.ts';
import type { TaskLabels, TaskServices } from '../services.ts';
import type { PerformInput } from '../types.ts';

export const servicesOf = ({ services }: Pick<EffectContext, 'services'>): TaskServices =>
  services as TaskServices;

type Asked = Omit<PerformInput, 'expiresAt'>;

/**
 * @throws TroupeError UNAVAILABLE: this worker does not know the action; another may, as while a
 * new version is rolled out
 */
export function definitionOf({ envelope }: Asked, { actions }: TaskServices): ActionDefinition {
  const { action, action_version } = envelope;
  const definition = actions.find(action, action_version);
  if (definition) return definition;
  throw new TroupeError(
    'UNAVAILABLE',
    `no action ${action} of version ${action_version} is registered on this worker`,
  );
}

/** The envelope as its work reads it: a sealed payload opened (EN22). */
export const opened = ({ envelope, terms }: Asked, { open }: TaskServices): Promise<Envelope> =>
  terms.sensitive ? open(envelope) : Promise.resolve(envelope);

export const actionContext = (
  { taskId, idempotencyKey, attempt, inputs }: Asked,
  envelope: Envelope,
  context: EffectContext,
): ActionContext => ({
  taskId,
  idempotencyKey,
  attempt,
  tenant: envelope.tenant_id,
  principal: envelope.principal,
  envelope,
  signal: context.signal,
  now: () => context.now(),
  inputs,
  index: (asNewAs) => context.index(asNewAs),
  artifacts: servicesOf(context).artifacts,
});

export const labelsOf = ({ envelope }: Asked, errorCode: TaskLabels['errorCode']): TaskLabels => ({
  action: envelope.action,
  tenant: envelope.tenant_id,
  principal: envelope.principal.sub,
  errorCode,
});
