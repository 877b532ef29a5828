/** The A2A agents that agents of a tenant delegate to, by its configuration. Opens nothing. */
import { BlobCardStore } from '../agent/agent2agent/card-store.ts';
import { RemoteAgents } from '../agent/agent2agent/directory.ts';
import type { RemoteCaller } from '../protocols/remote-call.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import type { Config } from '../runtime/config/index.ts';
import { type Artifacts, systemClock } from '../runtime/index.ts';

export const remoteAgentsOf = (
  { tools }: Config,
  { blobs }: { readonly blobs: Promise<Blobs> },
): RemoteAgents =>
  new RemoteAgents({
    agents: tools.a2a.agents,
    store: new BlobCardStore(blobs),
    clock: systemClock,
  });

/** Makes their calls; the code for it is loaded with the first one. */
export const remoteAgentCaller = (
  agents: RemoteAgents,
  bucket: Promise<Artifacts>,
): RemoteCaller => {
  const load = () => import('../agent/agent2agent/remote-caller.ts');
  const options = { agents, bucket };
  return {
    start: async (call, request) => (await load()).start(call, request, options),
    follow: async (call, handle, request) => (await load()).follow(call, handle, request, options),
    cancel: async (call, handle, request) => (await load()).cancel(call, handle, request, options),
  };
};
