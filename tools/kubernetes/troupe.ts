/**
 * Gateways and workers of one cell. Their state is in NATS: a pod has no volume that outlives it.
 *
 * Times: a worker hands its shards over for at most `cluster.drainSeconds` (25) after SIGTERM, and
 * the grace period is above that and its end. A gateway is taken out of the Service before SIGTERM.
 */
import {
  disruptionBudget,
  domainNames,
  httpProbe,
  labelsOf,
  type Manifest,
  PART_OF,
  podSecurity,
  restricted,
  secretVariable,
  selectorOf,
  serviceAccount,
  spread,
} from './parts.ts';
import type { Values } from './values.ts';

const GATEWAY_PORT = 18_789;
export const METRICS_PORT = 9_464;
/** The user `node` of the image. */
const USER = 1_000;
/** Until all parts of Kubernetes know that the gateway is no endpoint any more. */
const ENDPOINT_REMOVAL_SECONDS = 5;

/** @param images names by part: `troupe` */
export function troupeManifests(values: Values, images: { readonly troupe: string }): Manifest[] {
  const context = { values, image: values.whole('image', images.troupe) };
  return [
    configuration(values),
    serviceAccount('troupe'),
    gatewayService(),
    gateways(context),
    disruptionBudget('gateway'),
    workers(context),
    disruptionBudget('worker'),
    ...networkPolicies(values),
  ];
}

type Context = { readonly values: Values; readonly image: string };

const configuration = (values: Values): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'troupe', labels: PART_OF },
  data: {
    'troupe.json5': `// The configuration of gateways and workers: docs/config.md.
{
  // Bytes of JetStream, for the alarm on a full store.
  nats: { storageBytes: ${values.part('nats.storageBytes', '21474836480')} },
  a2a: {
    // Where callers reach the gateways: a part of the addresses of files.
    publicUrl: '${values.part('publicUrl', `http://troupe-gateway:${GATEWAY_PORT}`)}',
    metricsPort: ${METRICS_PORT},
  },
}
`,
  },
});

const gatewayService = (): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'troupe-gateway', labels: labelsOf('gateway') },
  spec: {
    type: 'ClusterIP',
    selector: selectorOf('gateway').matchLabels,
    ports: [{ name: 'http', port: GATEWAY_PORT, targetPort: 'http', protocol: 'TCP' }],
  },
});

const gateways = (context: Context): Manifest =>
  deployment(context, 'gateway', {
    port: GATEWAY_PORT,
    portName: 'http',
    graceSeconds: 30,
    readyPath: context.values.whole('gateway.readinessPath', '/readyz'),
    // SIGTERM follows when no new connection arrives
    lifecycle: { preStop: { exec: { command: ['sleep', `${ENDPOINT_REMOVAL_SECONDS}`] } } },
  });

const workers = (context: Context): Manifest =>
  deployment(context, 'worker', {
    port: METRICS_PORT,
    portName: 'metrics',
    graceSeconds: 60,
    readyPath: '/readyz',
  });

type Kind = {
  readonly port: number;
  readonly portName: string;
  readonly graceSeconds: number;
  readonly readyPath: string;
  readonly lifecycle?: object;
};

function deployment(context: Context, component: string, kind: Kind): Manifest {
  const { values } = context;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `troupe-${component}`, labels: labelsOf(component) },
    spec: {
      replicas: values.whole(`${component}.replicas`, 2),
      // one after the other, so that few shards move at a time
      minReadySeconds: 10,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: selectorOf(component),
      template: {
        metadata: { labels: labelsOf(component) },
        spec: {
          serviceAccountName: 'troupe',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: kind.graceSeconds,
          securityContext: podSecurity(USER),
          topologySpreadConstraints: spread(component),
          containers: [container(context, component, kind)],
          volumes: [
            { name: 'config', configMap: { name: 'troupe' } },
            { name: 'data', emptyDir: { sizeLimit: values.whole(`${component}.dataSize`, '5Gi') } },
            { name: 'tmp', emptyDir: { sizeLimit: values.whole(`${component}.tmpSize`, '1Gi') } },
          ],
        },
      },
    },
  };
}

const container = ({ values, image }: Context, component: string, kind: Kind): object => ({
  name: component,
  image,
  imagePullPolicy: 'IfNotPresent',
  args: [component, '--json'],
  env: [
    { name: 'TROUPE_CONFIG', value: '/etc/troupe/troupe.json5' },
    { name: 'TROUPE_HOME', value: '/data' },
    { name: 'TROUPE_BIND', value: 'lan' },
    { name: 'TROUPE_PORT', value: String(GATEWAY_PORT) },
    { name: 'TROUPE_NATS_URL', value: values.whole('nats.url', 'nats://troupe-nats:4222') },
    { name: 'TROUPE_NATS_USER', value: 'troupe' },
    { name: 'TROUPE_NATS_REPLICAS', value: values.whole('nats.replicas', '3') },
    ...['TROUPE_NATS_PASSWORD', 'TROUPE_CLUSTER_SECRET', 'TROUPE_TOKEN'].map((name) =>
      secretVariable(name, values.whole('secret', 'troupe'), keyOf(name)),
    ),
  ],
  envFrom: [{ secretRef: { name: values.whole('modelsSecret', 'troupe-models'), optional: true } }],
  ports: [{ name: kind.portName, containerPort: kind.port, protocol: 'TCP' }],
  // it begins to listen when NATS is there and a cell is open, which may take long
  startupProbe: httpProbe('/healthz', kind.portName, { periodSeconds: 5, failureThreshold: 120 }),
  // the process answers: never what it depends on
  livenessProbe: httpProbe('/healthz', kind.portName, { periodSeconds: 10, failureThreshold: 6 }),
  readinessProbe: httpProbe(kind.readyPath, kind.portName, {
    periodSeconds: 5,
    failureThreshold: 3,
  }),
  ...(kind.lifecycle === undefined ? {} : { lifecycle: kind.lifecycle }),
  resources: {
    requests: {
      cpu: values.whole(`${component}.cpu`, '1'),
      memory: values.whole(`${component}.memory`, '512Mi'),
    },
    // no limit of the processor: its throttling stops the event loop
    limits: { memory: values.whole(`${component}.memoryLimit`, '2Gi') },
  },
  securityContext: restricted,
  volumeMounts: [
    { name: 'config', mountPath: '/etc/troupe', readOnly: true },
    { name: 'data', mountPath: '/data' },
    { name: 'tmp', mountPath: '/tmp' },
  ],
});

/** `TROUPE_NATS_PASSWORD` is the key `nats-password` of the Secret. */
const keyOf = (variable: string): string =>
  variable.replace('TROUPE_', '').toLowerCase().replaceAll('_', '-');

/** Metrics are read from the namespace of Prometheus; nothing else reaches a worker. */
const networkPolicies = (values: Values): Manifest[] => {
  const monitoring = {
    namespaceSelector: {
      matchLabels: {
        'kubernetes.io/metadata.name': values.whole('monitoringNamespace', 'monitoring'),
      },
    },
  };
  const from = { gateway: undefined, worker: [monitoring] };
  return (['gateway', 'worker'] as const).map((component) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `troupe-${component}`, labels: labelsOf(component) },
    spec: {
      podSelector: selectorOf(component),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          ...(from[component] === undefined ? {} : { from: from[component] }),
          ports: [{ protocol: 'TCP', port: component === 'gateway' ? 'http' : 'metrics' }],
        },
      ],
      egress: [
        domainNames,
        {
          to: [{ podSelector: selectorOf('nats') }],
          ports: [{ protocol: 'TCP', port: 4_222 }],
        },
        {
          // models, messengers and pages, but not the metadata service of a cloud
          to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } }],
          ports: [
            { protocol: 'TCP', port: 443 },
            { protocol: 'TCP', port: 80 },
          ],
        },
      ],
    },
  }));
};
