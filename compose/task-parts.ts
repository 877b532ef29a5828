/**
 * What tasks need in every kind of process: the actions of this build, the bucket, and the keys
 * that open sealed payloads and sign envelopes to external agents.
 */
import { defined } from '../protocols/defined.ts';
import { factoryProcesses } from '../sample-agents/factory.ts';
import { ProcessCatalog } from '../actors/process/catalog.ts';
import { actionOf, type ProcessDefinition } from '../actors/process/define.ts';
import type { SagaServices } from '../actors/process/plan.ts';
import type { PushServices } from '../actors/push/effects.ts';
import type { ActionDefinition } from '../actors/task/action.ts';
import { ActionCatalog } from '../actors/task/catalog.ts';
import type { TaskServices } from '../actors/task/services.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { PushSenderOptions } from '../channels/agent2agent/push-sender.ts';
import { LazyValue } from '../protocols/lazy-value.ts';
import type { PushSender } from '../protocols/push.ts';
import { sealingKeyFile, signingKeyFile } from '../channels/edge/identity/key-file.ts';
import { createSealer, type Sealer } from '../channels/edge/identity/sealer.ts';
import { openSigner, type Signer } from '../channels/edge/identity/signer.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import type { SystemOptions } from '../runtime/system-options.ts';
import type { Config } from '../runtime/config/index.ts';
import { bindsLoopback, gatewayOrigin } from '../runtime/config/places.ts';
import { shippedActions } from './actions.ts';
import { tokenOf } from '../actors/task/remote/agent-tokens.ts';
import { agentRequest } from '../actors/task/remote/agent-request.ts';
import { openArtifacts } from '../installation/artifact-bucket.ts';
import { maskOf } from './operation-services.ts';
import type { ProcessServices } from './process-services.ts';
import { createAskAgent } from '../actors/task/remote/ask-agent.ts';

/**
 * Parts of an application in addition to the built-in ones; the same in every process of a cell.
 */
export type OwnAgents = {
  /** types of actors */
  readonly actors?: SystemOptions['actors'];
  readonly actions?: readonly ActionDefinition[];
  readonly processes?: readonly ProcessDefinition[];
  /** tools for models */
  readonly tools?: readonly Tool[];
};

export type TaskParts = {
  readonly services: TaskServices & SagaServices & PushServices;
  readonly sealer: Sealer;
  readonly signer: Signer;
  /** base URL of this cell for other programs, without a final slash */
  readonly publicUrl: () => string;
  /** Sets the address of this process's gateway, if it was not known before. */
  readonly onListen: (url: string) => void;
};

/**
 * @param blobs of the joined cell; absent: the process is in no cluster
 * @throws TroupeError when the bucket or the sealing key cannot be used; INVALID_ARGUMENT for an
 * invalid configuration of the process
 */
export async function openTaskParts(
  config: Config,
  processServices: Pick<ProcessServices, 'metrics' | 'bucket' | 'blobs' | 'services' | 'live'>,
  { actions: own = [], processes = [] }: OwnAgents = {},
  blobs?: Blobs,
): Promise<TaskParts> {
  const { metrics, bucket, blobs: cellBlobs, live } = processServices;
  const bytesMax = () => live.now.a2a.artifacts.bytesMax;
  const maskSecrets = maskOf(processServices);
  const { home, a2a } = config;
  let url = withoutSlash(a2a.publicUrl ?? gatewayOrigin(config));
  const publicUrl = () => url;
  const sealer = await createSealer({
    file: a2a.sealingKeyFile ?? sealingKeyFile(home),
    jwksUrl: () => `${url}/.well-known/jwks.json`,
  });
  const signer = await openSigner(a2a.signingKeyFile ?? signingKeyFile(home));
  const actions = new ActionCatalog([
    ...shippedActions(a2a.agents, a2a.messagesFrom),
    ...own,
    ...processes.map(actionOf),
  ]);
  const shipped = a2a.agents.includes('factory') ? factoryProcesses() : [];
  const artifacts = await openArtifacts(config, { publicUrl, bytesMax, ...defined({ blobs }) });
  bucket.open(artifacts);
  if (blobs) cellBlobs.open(blobs);
  // If other machines have no access, agents on this machine may be called.
  const allowLoopback = bindsLoopback(config);
  const request = agentRequest({ allowLoopback });
  const postRequest = agentRequest({ allowLoopback, ignoresBody: true });
  const services: TaskParts['services'] = {
    actions,
    processes: new ProcessCatalog([...shipped, ...processes], actions),
    artifacts,
    artifactsLocality: a2a.artifacts.locality ?? a2a.locality,
    open: (envelope) => sealer.open(envelope),
    seal: (value, belongsTo) => sealer.seal(value, belongsTo),
    askAgent: createAskAgent({
      request,
      token: tokenOf(a2a.agentsOutside),
      sign: (envelope) => signer.sign(envelope),
    }),
    count: (_, labels) => metrics.retry(labels),
    push: pushSender({ request: postRequest, signer, sealer, publicUrl, maskSecrets }),
  };
  return {
    services,
    sealer,
    signer,
    publicUrl,
    onListen(listening) {
      if (a2a.publicUrl === undefined) url = withoutSlash(listening);
    },
  };
}

/** Loads the SDK with the first notification. */
const pushSender = (options: PushSenderOptions): PushSender => {
  const sender = new LazyValue(async () => {
    const { createPushSender } = await import('../channels/agent2agent/push-sender.ts');
    return createPushSender(options);
  });
  return async (delivery, signal) => (await sender.get())(delivery, signal);
};

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
