/** What operations use of a process, for its HTTP routes and its WebSocket clients. */
import { payloadsIn, readPayload } from '../channels/gateway/devices/node-payloads.ts';
import { agentNames } from '../installation/agent-names.ts';
import { retentionReads } from '../installation/retention/retention.ts';
import { remoteServersOf } from '../installation/remote-servers.ts';
import { partsFor } from '../installation/tenant-parts.ts';
import type { OperationServices } from '../operations/operation.ts';
import { TroupeError } from '../protocols/errors.ts';
import { type System, systemClock } from '../runtime/index.ts';
import { type GatewayServices, noticesOf, type ProcessServices } from './process-services.ts';

export const operationServices = (
  system: System,
  processServices: GatewayServices,
  payloads = payloadsIn(processServices.bucket.value),
): OperationServices => ({
  system,
  metrics: processServices.metrics,
  now: () => systemClock.wallMs(),
  models: (tenant) => partsFor(processServices, tenant).services.catalog,
  hooks: (tenant) => partsFor(processServices, tenant).services.hooks.names(),
  remoteServers: (tenant) => remoteServersOf(partsFor(processServices, tenant).config),
  plugins: processServices.plugins,
  disks: () => processServices.disks.disks(),
  notices: () => noticesOf(processServices),
  configuration: {
    status: () => processServices.live.status(),
    assertValues: (values) => processServices.live.assertValues(values),
  },
  agents: (tenant) => agentNames(processServices, tenant),
  notes: processServices.notes ?? NO_NOTES,
  erasure: processServices.erasure ?? NO_ERASURE,
  retention: retentionReads(
    processServices.retention ?? { plan: unavailable },
    processServices.live,
  ),
  sign: async (tenant, hash) => {
    const bucket = await processServices.bucket.value;
    return (await bucket.sign(tenant, hash)).artifact_uri;
  },
  maskSecrets: maskOf(processServices),
  payloadText: (tenant, payload) => readPayload(payloads, tenant, payload),
});

const noWorkspaces = () =>
  new TroupeError('UNAVAILABLE', 'this process has no workspaces of agents: ask a gateway');
const unavailable = (): Promise<never> => Promise.reject(noWorkspaces());
const NO_ERASURE: OperationServices['erasure'] = { survey: unavailable };
const NO_NOTES = {
  search: unavailable,
  list: unavailable,
  read: unavailable,
  assertBatches(): void {
    throw noWorkspaces();
  },
};

/** Replaces the secrets of all tenants. */
export const maskOf =
  ({ services }: Pick<ProcessServices, 'services'>) =>
  (text: string): string =>
    services.secrets.text(text);
