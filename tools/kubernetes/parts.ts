/** Parts that manifests of several kinds share. */

export type Labels = Readonly<Record<string, string>>;

/** A manifest: `apiVersion`, `kind`, `metadata` and more. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly [key: string]: unknown;
};

/** All pods of troupe: what reaches NATS, and what the policies of networks select. */
export const PART_OF: Labels = { 'app.kubernetes.io/part-of': 'troupe' };

export const labelsOf = (component: string): Labels => ({
  ...PART_OF,
  'app.kubernetes.io/name': `troupe-${component}`,
});

/** What selects the pods of one component: labels that never change. */
export const selectorOf = (component: string): { matchLabels: Labels } => ({
  matchLabels: { 'app.kubernetes.io/name': `troupe-${component}` },
});

/** Of a pod. Together with `restricted` this is the level "restricted" of Kubernetes. */
export const podSecurity = (user: number): object => ({
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
});

/** Of a container. */
export const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** At most one pod of the component is evicted at a time. */
export const disruptionBudget = (component: string): Manifest => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: `troupe-${component}`, labels: labelsOf(component) },
  spec: {
    maxUnavailable: 1,
    selector: selectorOf(component),
    // a pod that is not ready protects nothing: it must not block the drain of its node
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  },
});

export const serviceAccount = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, labels: PART_OF },
  automountServiceAccountToken: false,
});

/** Pods of one component rather on different machines. */
export const spread = (component: string): readonly object[] => [
  {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: selectorOf(component),
  },
];

export const httpProbe = (path: string, port: string, rest: object): object => ({
  httpGet: { path, port },
  timeoutSeconds: 5,
  ...rest,
});

/** Variables from keys of a Secret. */
export const secretVariable = (name: string, secret: string, key: string): object => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key } },
});

export const domainNames = {
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};
