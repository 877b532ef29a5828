/**
 * What tasks need of a process, whatever form it has: the actions of this code, the bucket, the key
 * that sealed payloads are opened with, and agents outside.
 */
import { factoryProcesses } from '../actors/factory/factory.ts';
import { ProcessCatalog } from '../actors/process/catalog.ts';
import type { ProcessServices } from '../actors/process/plan.ts';
import { ActionCatalog } from '../actors/task/catalog.ts';
import type { TaskServices } from '../actors/task/services.ts';
import { sealingKeyFile } from '../channels/edge/identity/key-file.ts';
import { createSealer, type Sealer } from '../channels/edge/identity/sealer.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Config } from '../runtime/config/index.ts';
import { shippedActions } from './actions.ts';
import { gatewayUrl, openArtifacts } from './artifacts.ts';
import type { Crew } from './crew.ts';

export type TaskParts = {
  readonly services: TaskServices & ProcessServices;
  readonly sealer: Sealer;
  /** where others reach this cell's door, without a slash at its end */
  readonly publicUrl: () => string;
  /** Tells where the gateway of this process listens, when that was not known before. */
  readonly onListen: (url: string) => void;
};

/** @throws TroupeError when the bucket or the sealing key can not be used */
export async function openTaskParts(
  config: Config,
  { metrics }: Pick<Crew, 'metrics'>,
): Promise<TaskParts> {
  const { home, a2a } = config;
  let url = withoutSlash(a2a.publicUrl ?? gatewayUrl(config));
  const publicUrl = () => url;
  const sealer = await createSealer({
    file: a2a.sealingKeyFile ?? sealingKeyFile(home),
    jwksUrl: () => `${url}/.well-known/jwks.json`,
  });
  const actions = new ActionCatalog(shippedActions());
  const services: TaskParts['services'] = {
    actions,
    processes: new ProcessCatalog(factoryProcesses(), actions),
    artifacts: await openArtifacts(config, { publicUrl }),
    open: (envelope) => sealer.open(envelope),
    askAgent: (agent) =>
      Promise.reject(
        new TroupeError('UNAVAILABLE', `nothing here asks the agent ${agent.agent_id}`),
      ),
    count: (what, labels) =>
      what === 'retry' ? metrics.retry(labels) : metrics.deadLetter(labels),
  };
  return {
    services,
    sealer,
    publicUrl,
    onListen(listening) {
      if (a2a.publicUrl === undefined) url = withoutSlash(listening);
    },
  };
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
