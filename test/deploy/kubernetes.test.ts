/**
 * The manifests and charts of deploy/: made from their source, valid by pinned schemas, equal to
 * each other, and in agreement with what troupe, Prometheus and NATS do.
 */
// Manifests of several kinds are read by path.
// oxlint-disable no-explicit-any
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../runtime/config/index.ts';
import { root } from '../../tools/install.mjs';
import { kubernetesFiles } from '../../tools/kubernetes/files.ts';
import { blocksOf } from '../docs/pages.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import {
  chartManifests,
  defaultsOf,
  expand,
  helmFolder,
  type Manifest,
  plainManifests,
} from './kubernetes-expand.ts';

const deploy = join(root, 'deploy');
const readJson = (path: string): any => JSON.parse(readFileSync(join(root, path), 'utf8'));

const plainFiles = ['troupe.yaml', 'nats.yaml', 'autoscaling.yaml'];
const charts = {
  'troupe.yaml': 'troupe',
  'nats.yaml': 'troupe-nats',
  'autoscaling.yaml': 'troupe-autoscaling',
};
const all = plainFiles.flatMap(plainManifests);
const called = (kind: string, name: string): Manifest =>
  all.find((one) => one.kind === kind && one.metadata.name === name)!;
const key = ({ kind, metadata: { name } }: Manifest): string => `${kind}/${name}`;

describe('the generated files', () => {
  it('are what the source makes', () => {
    const images = readJson('deploy/images.json') as { troupe: string; nats: string };
    const { version } = readJson('package.json') as { version: string };
    const made = kubernetesFiles({ images, version });
    const present = ['kubernetes', 'helm'].flatMap((folder) =>
      readdirSync(join(deploy, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.yaml'))
        .map((entry) => join(entry.parentPath, entry.name).slice(deploy.length + 1)),
    );
    expect(present.toSorted()).toEqual([...made.keys()].toSorted());
    for (const [path, text] of made)
      expect({ path, text: readFileSync(join(deploy, path), 'utf8') }).toEqual({ path, text });
  });

  it.each(Object.entries(charts))('%s is the chart %s with its own values', (file, chart) => {
    const byKey = (manifests: Manifest[]) =>
      Object.fromEntries(manifests.map((one) => [key(one), one]));
    expect(byKey(chartManifests(chart))).toEqual(byKey(plainManifests(file)));
  });

  it('use every value, and have no other expression', () => {
    for (const chart of Object.values(charts)) {
      const folder = join(helmFolder, chart, 'templates');
      const text = readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), 'utf8'))
        .join('\n');
      const leavesOf = (tree: object, path = ''): string[] =>
        Object.entries(tree).flatMap(([name, value]) =>
          typeof value === 'object' ? leavesOf(value, `${path}${name}.`) : [`${path}${name}`],
        );
      for (const path of leavesOf(defaultsOf(chart)))
        expect(text).toContain(`{{ .Values.${path} }}`);
      expect(text.replaceAll(/\{\{ \.Values\.[A-Za-z0-9.]+ \}\}/g, '')).not.toMatch(/\{\{|\}\}/);
    }
    expect(() => expand('{{ if .Values.a }}', { a: 1 })).toThrow('is not a value');
    expect(() => expand('{{ .Values.b }}', { a: 1 })).toThrow('no value b');
  });

  it('take other values', () => {
    const values: any = structuredClone(defaultsOf('troupe'));
    values.worker.replicas = 7;
    values.secret = 'mine';
    const manifest = chartManifests('troupe', values).find(
      (one) => key(one) === 'Deployment/troupe-worker',
    )!;
    expect(manifest['spec'].replicas).toBe(7);
    expect(JSON.stringify(manifest)).toContain('"secretKeyRef":{"name":"mine","key":"token"}');
  });
});

const ajv = new Ajv2020({ allErrors: true });
const kubernetes = 'deploy/kubernetes/schemas/kubernetes-1.30.json';
const keda = 'deploy/kubernetes/schemas/keda-2.17.json';
ajv.addSchema(readJson(kubernetes) as object, kubernetes).addSchema(readJson(keda) as object, keda);

/** What the pinned schema of its kind says. */
function problemsOf(manifest: Manifest): string[] {
  const file = manifest.apiVersion.startsWith('keda.sh/') ? keda : kubernetes;
  const validate = ajv.getSchema(`${file}#/$defs/${manifest.kind}`);
  if (validate === undefined) return [`no schema has ${manifest.kind}`];
  if (validate(manifest)) return [];
  return validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe('every manifest is valid', () => {
  it.each(all.map((manifest) => [key(manifest), manifest] as const))('%s', (_, manifest) => {
    expect(problemsOf(manifest)).toEqual([]);
  });

  it('and a mistake would be found', () => {
    const worker = called('Deployment', 'troupe-worker');
    const broken = (change: (spec: any) => void): string[] => {
      const copy = structuredClone(worker);
      change(copy['spec']);
      return problemsOf(copy);
    };
    expect(broken((spec) => (spec.template.spec.containers[0].livenesProbe = {}))).not.toEqual([]);
    expect(broken((spec) => (spec.template.spec.securityContext.runAsNonRoot = false))).not.toEqual(
      [],
    );
    expect(broken((spec) => (spec.replicas = '2'))).not.toEqual([]);
    const scaled = structuredClone(called('ScaledObject', 'troupe-worker'));
    scaled['spec'].minReplicaCount = 0;
    expect(problemsOf(scaled)).not.toEqual([]);
  });
});

describe('the manifests agree with each other', () => {
  const workloads = all.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  const podOf = (manifest: Manifest): any => manifest['spec'].template;

  it('selectors find the pods that they mean, ports and volumes exist', () => {
    const matches = (selector: any, labels: any): boolean =>
      Object.entries(selector).every(([name, value]) => labels[name] === value);
    const selectors = all.flatMap(({ kind, spec }): [any, any][] =>
      kind === 'Service'
        ? [[spec.selector, spec.ports]]
        : [[(spec?.selector ?? spec?.podSelector)?.matchLabels, []]],
    );
    for (const [selector, ports] of selectors.filter(([one]) => one !== undefined)) {
      const found = workloads.filter((one) => matches(selector, podOf(one).metadata.labels));
      expect({ selector, count: found.length }).toEqual({ selector, count: 1 });
      const names = podOf(found[0]!).spec.containers[0].ports.map(({ name }: any) => name);
      for (const { targetPort } of ports) expect(names).toContain(targetPort);
    }
    for (const { spec } of workloads.map(podOf)) {
      const [container] = spec.containers;
      const volumes = [...spec.volumes.map(({ name }: any) => name), 'data'];
      for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
      const ports = container.ports.map(({ name }: any) => name);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect(ports).toContain(container[probe].httpGet.port);
    }
  });

  it('every workload has a budget, a policy of its network and an account without a token', () => {
    for (const { metadata } of workloads) {
      expect(called('PodDisruptionBudget', metadata.name)['spec'].maxUnavailable).toBe(1);
      expect(called('NetworkPolicy', metadata.name)['spec'].policyTypes).toEqual([
        'Ingress',
        'Egress',
      ]);
    }
    for (const account of all.filter(({ kind }) => kind === 'ServiceAccount'))
      expect(account['automountServiceAccountToken']).toBe(false);
  });

  it('the grace period of a worker is above its hand-over', () => {
    const config = write(
      scratchFolder(),
      'troupe.json5',
      called('ConfigMap', 'troupe')['data']['troupe.json5'],
    );
    const env = { TROUPE_TOKEN: 'a-token-of-32-characters-or-more-0000' };
    const loaded = loadConfig({ file: config, env, flags: { data: scratchFolder() } }).config;
    const grace = podOf(called('Deployment', 'troupe-worker')).spec.terminationGracePeriodSeconds;
    expect(grace).toBeGreaterThanOrEqual(loaded.cluster.drainSeconds + 20);
    expect(loaded.a2a.metricsPort).toBe(9_464);
  });

  it('workers are scaled by metrics that they export, slowly and never to zero', () => {
    const { spec } = called('ScaledObject', 'troupe-worker');
    const queries: string[] = spec.triggers.map(({ metadata }: any) => metadata.query);
    const page = readFileSync(join(root, 'docs/observability.md'), 'utf8');
    for (const query of queries) expect(page).toContain(`\`${/troupe_\w+/.exec(query)![0]}\``);
    expect(spec.minReplicaCount).toBeGreaterThanOrEqual(2);
    expect(spec.fallback.replicas).toBeGreaterThan(spec.minReplicaCount);
    const { scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
    expect(scaleDown.policies).toEqual([{ type: 'Pods', value: 1, periodSeconds: 120 }]);
  });

  it('NATS is new enough for replicas', () => {
    const [, major, minor] = /:(\d+)\.(\d+)/.exec(readJson('deploy/images.json').nats)!;
    expect(Number(major) * 100 + Number(minor)).toBeGreaterThanOrEqual(211);
  });
});

it('the scrape configuration of the page has the job that the scaling asks for', () => {
  // Debian's promtool is built without the discovery of Kubernetes, and would refuse it.
  const { text } = blocksOf('docs/kubernetes.md').find(({ language }) => language === 'yaml')!;
  const { scrape_configs: jobs } = parse(text) as { scrape_configs: { job_name: string }[] };
  const names = jobs.map((job) => job.job_name);
  expect(names).toContain(defaultsOf('troupe-autoscaling')['job']);
  const compose = parse(readFileSync(join(deploy, 'prometheus.yml'), 'utf8')) as {
    scrape_configs: { job_name: string }[];
  };
  expect(names.toSorted()).toEqual(compose.scrape_configs.map((job) => job.job_name).toSorted());
});
