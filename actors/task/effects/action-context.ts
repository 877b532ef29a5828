/** The context of an action's work, and the look-up of its definition. */
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { checkArtifactsLocality } from '../../../protocols/locality.ts';
import type { Artifacts, EffectContext } from '../../../runtime/index.ts';
import type { ActionContext, ActionDefinition } from '../action.ts';
import type { TaskLabels, TaskServices } from '../services.ts';
import type { PerformInput } from '../types.ts';

export const servicesOf = ({ services }: Pick<EffectContext, 'services'>): TaskServices =>
  services as TaskServices;

type OfEnvelope = { readonly envelope: Envelope };

/** Work on an envelope runs, and stores its files, where its `data_locality` says. */
export const placement = ({ envelope }: OfEnvelope) => ({ locality: envelope.data_locality });

/** As `servicesOf`, with a bucket that refuses what does not belong where it is. */
export function servicesFor({ envelope }: OfEnvelope, context: EffectContext): TaskServices {
  const services = servicesOf(context);
  const { data_locality: wanted } = envelope;
  if (wanted === undefined) return services;
  return { ...services, artifacts: artifactsIn(wanted, services) };
}

function artifactsIn(wanted: string, services: TaskServices): Artifacts {
  const refuse = async (): Promise<void> => checkArtifactsLocality(wanted, services);
  const { artifacts } = services;
  return {
    put: (...args) => refuse().then(() => artifacts.put(...args)),
    get: (...args) => refuse().then(() => artifacts.get(...args)),
    sign: (...args) => refuse().then(() => artifacts.sign(...args)),
    remove: (...args) => refuse().then(() => artifacts.remove(...args)),
    resolve: (...args) => refuse().then(() => artifacts.resolve(...args)),
  };
}

type Asked = Omit<PerformInput, 'expiresAt'>;

/**
 * @throws TroupeError UNAVAILABLE: this worker does not have the action; another one may, for
 *   example during a rollout
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

/** The envelope as its work reads it: a sealed payload opened. */
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
  artifacts: servicesFor({ envelope }, context).artifacts,
});

export const labelsOf = ({ envelope }: Asked, errorCode: TaskLabels['errorCode']): TaskLabels => ({
  action: envelope.action,
  tenant: envelope.tenant_id,
  principal: envelope.principal.sub,
  errorCode,
});
