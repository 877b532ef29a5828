/**
 * NATS for one cell: three servers of one cluster, each with its own disk and on its own machine.
 * docs/nats.md says what the users may do and what the sizes mean.
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
} from './parts.ts';
import type { Values } from './values.ts';

const SERVERS = [0, 1, 2] as const;
/** The image has no user of its own. */
const USER = 1_000;

/** @param images names by part: `nats` */
export function natsManifests(values: Values, images: { readonly nats: string }): Manifest[] {
  return [
    configuration(values),
    serviceAccount('troupe-nats'),
    service('troupe-nats', [['client', 4_222]]),
    {
      ...service('troupe-nats-servers', [
        ['client', 4_222],
        ['cluster', 6_222],
        ['monitor', 8_222],
      ]),
      spec: {
        ...servicePorts([
          ['client', 4_222],
          ['cluster', 6_222],
          ['monitor', 8_222],
        ]),
        clusterIP: 'None',
        // servers find each other before they are ready
        publishNotReadyAddresses: true,
      },
    },
    servers(values, values.whole('image', images.nats)),
    disruptionBudget('nats'),
    networkPolicy(),
  ];
}

const configuration = (values: Values): Manifest => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'troupe-nats', labels: PART_OF },
  data: {
    'nats.conf': `# One of three servers: docs/nats.md. The routes are arguments of the command.
server_name: $POD_NAME
port: 4222
http: "0.0.0.0:8222"
pid_file: "/run/nats/nats.pid"
# An envelope has up to 1 MiB; the headers of its message are added.
max_payload: 2MB
# At the end of a pod, clients change to another server before this one stops.
lame_duck_grace_period: 5s
lame_duck_duration: 30s

jetstream {
  store_dir: /data
  max_file_store: ${values.part('maxFileStore', '20GB')}
}

cluster {
  name: troupe
  port: 6222
  authorization { user: route, password: $NATS_ROUTE_PASSWORD }
}

authorization {
  users = [
    { user: troupe, password: $NATS_PASSWORD }
  ]
}
`,
  },
});

type Port = readonly [name: string, port: number];

const servicePorts = (ports: readonly Port[]): object => ({
  type: 'ClusterIP',
  selector: selectorOf('nats').matchLabels,
  ports: ports.map(([name, port]) => ({ name, port, targetPort: name, protocol: 'TCP' })),
});

const service = (name: string, ports: readonly Port[]): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels: labelsOf('nats') },
  spec: servicePorts(ports),
});

const servers = (values: Values, image: string): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'troupe-nats', labels: labelsOf('nats') },
  spec: {
    replicas: SERVERS.length,
    serviceName: 'troupe-nats-servers',
    // the servers of a new cluster need each other
    podManagementPolicy: 'Parallel',
    minReadySeconds: 10,
    updateStrategy: { type: 'RollingUpdate' },
    selector: selectorOf('nats'),
    template: {
      metadata: { labels: labelsOf('nats') },
      spec: {
        serviceAccountName: 'troupe-nats',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        // above lame_duck_grace_period and lame_duck_duration
        terminationGracePeriodSeconds: 60,
        securityContext: podSecurity(USER),
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: selectorOf('nats') },
            ],
          },
        },
        containers: [server(values, image)],
        volumes: [
          { name: 'config', configMap: { name: 'troupe-nats' } },
          { name: 'run', emptyDir: {} },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          // larger than max_file_store
          resources: { requests: { storage: values.whole('diskSize', '25Gi') } },
        },
      },
    ],
  },
});

const server = (values: Values, image: string): object => ({
  name: 'nats',
  image,
  imagePullPolicy: 'IfNotPresent',
  args: ['-c', '/etc/nats/nats.conf', '--routes', SERVERS.map(route).join(',')],
  env: [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    secretVariable('NATS_PASSWORD', values.whole('secret', 'troupe'), 'nats-password'),
    secretVariable('NATS_ROUTE_PASSWORD', values.whole('secret', 'troupe'), 'nats-route-password'),
  ],
  ports: [
    { name: 'client', containerPort: 4_222, protocol: 'TCP' },
    { name: 'cluster', containerPort: 6_222, protocol: 'TCP' },
    { name: 'monitor', containerPort: 8_222, protocol: 'TCP' },
  ],
  // the recovery of a large store takes minutes
  startupProbe: httpProbe('/healthz?js-server-only=true', 'monitor', {
    periodSeconds: 10,
    failureThreshold: 90,
  }),
  livenessProbe: httpProbe('/healthz?js-enabled-only=true', 'monitor', {
    periodSeconds: 30,
    failureThreshold: 3,
  }),
  readinessProbe: httpProbe('/healthz?js-server-only=true', 'monitor', {
    periodSeconds: 10,
    failureThreshold: 3,
  }),
  lifecycle: {
    preStop: { exec: { command: ['nats-server', '-sl=ldm=/run/nats/nats.pid'] } },
  },
  resources: {
    requests: { cpu: values.whole('cpu', '1'), memory: values.whole('memory', '1Gi') },
    limits: { memory: values.whole('memoryLimit', '4Gi') },
  },
  securityContext: restricted,
  volumeMounts: [
    { name: 'config', mountPath: '/etc/nats', readOnly: true },
    { name: 'data', mountPath: '/data' },
    { name: 'run', mountPath: '/run/nats' },
  ],
});

/** Kubernetes fills in the variable. */
const route = (at: number): string =>
  `nats://route:$(NATS_ROUTE_PASSWORD)@troupe-nats-${at}.troupe-nats-servers:6222`;

const networkPolicy = (): Manifest => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'troupe-nats', labels: labelsOf('nats') },
  spec: {
    podSelector: selectorOf('nats'),
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: PART_OF } }],
        ports: [{ protocol: 'TCP', port: 'client' }],
      },
      {
        from: [{ podSelector: selectorOf('nats') }],
        ports: [{ protocol: 'TCP', port: 'cluster' }],
      },
    ],
    egress: [
      domainNames,
      { to: [{ podSelector: selectorOf('nats') }], ports: [{ protocol: 'TCP', port: 6_222 }] },
    ],
  },
});
