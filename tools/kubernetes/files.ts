/** Every generated file of deploy/kubernetes and deploy/helm, with its text. */
import { autoscalingManifests } from './autoscaling.ts';
import { natsManifests } from './nats.ts';
import type { Manifest } from './parts.ts';
import { troupeManifests } from './troupe.ts';
import { Values, yamlText } from './values.ts';

type Images = { readonly troupe: string; readonly nats: string };

type Chart = {
  readonly name: string;
  /** file of the plain manifests */
  readonly plain: string;
  readonly description: string;
  readonly manifests: (values: Values, images: Images) => Manifest[];
};

const charts: readonly Chart[] = [
  {
    name: 'troupe',
    plain: 'troupe.yaml',
    description: 'Gateways and workers of a cell of troupe',
    manifests: troupeManifests,
  },
  {
    name: 'troupe-nats',
    plain: 'nats.yaml',
    description: 'NATS with JetStream for a cell of troupe: three servers',
    manifests: natsManifests,
  },
  {
    name: 'troupe-autoscaling',
    plain: 'autoscaling.yaml',
    description: 'Scaling of the workers of troupe by KEDA',
    manifests: autoscalingManifests,
  },
];

const head = '# Generated from tools/kubernetes: do not edit. See docs/kubernetes.md.\n';

/** Paths below deploy/, in order. */
export function kubernetesFiles(options: {
  readonly images: Images;
  readonly version: string;
}): ReadonlyMap<string, string> {
  return new Map(charts.flatMap((chart) => filesOf(chart, options)));
}

function filesOf(
  { name, plain, description, manifests }: Chart,
  { images, version }: { readonly images: Images; readonly version: string },
): [string, string][] {
  const values = new Values();
  const all = manifests(values, images);
  const chart = {
    apiVersion: 'v2',
    name,
    description,
    type: 'application',
    version,
    appVersion: version,
  };
  const documents = all.map((manifest) => yamlText(values.plain(manifest)));
  return [
    [`kubernetes/${plain}`, head + documents.join('---\n')],
    [`helm/${name}/Chart.yaml`, head + yamlText(chart)],
    [`helm/${name}/values.yaml`, head + values.yaml()],
    ...all.map((manifest): [string, string] => [
      `helm/${name}/templates/${fileOf(manifest)}`,
      values.template(manifest),
    ]),
  ];
}

const fileOf = ({ kind, metadata: { name } }: Manifest): string =>
  `${name}-${kind.toLowerCase()}.yaml`;
