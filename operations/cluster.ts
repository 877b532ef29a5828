/** The processes and shards of the installation: how they are, and who owns what. */
import { Type } from '@sinclair/typebox';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import type { DiskSpace } from '../protocols/disk.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { AlarmRow, PlacementRow, RootRow } from '../protocols/supervision.ts';
import type { NodeStatus, ShardStatus } from '../runtime/index.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';

const ALARMS_MAX = 1_000;

const show = defineOperation({
  name: 'cluster.show',
  scope: 'installation',
  summary: 'Show the processes, every shard with its owner and pending messages, and alarms',
  params: Type.Object({}),
  result: Type.Object({
    form: Type.Union([Type.Literal('embedded'), Type.Literal('cluster')]),
    nodes: Type.Array(ObjectOf<NodeStatus>(), { description: 'Empty if there is one process' }),
    shards: Type.Array(ObjectOf<ShardStatus>()),
    root: Type.Optional(ObjectOf<RootRow>()),
    placement: Type.Optional(ObjectOf<PlacementRow>()),
    alarms: Type.Array(ObjectOf<AlarmRow>(), { description: 'Actors that were given up' }),
    notices: Type.Array(Type.String(), {
      description: 'What operators should know about the process that answers',
    }),
    disks: Type.Array(ObjectOf<DiskSpace>(), {
      description: 'Disks with data of the process that answers; `readOnly`: no new work there',
    }),
  }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/cluster',
    operationId: 'getCluster',
    responses: { 200: 'As the gateway knows it' },
  },
  run({ system, disks, notices }) {
    const { index } = system;
    const rowOf = <Row>(key: string) => index.get<Row>('cluster', DEFAULT_TENANT, key);
    const nodes = [...system.nodes()];
    const alarms = index.list<AlarmRow>('alarms', DEFAULT_TENANT, { limit: ALARMS_MAX });
    return {
      form: nodes.length === 0 ? ('embedded' as const) : ('cluster' as const),
      nodes,
      shards: [...system.status()],
      ...defined({ root: rowOf<RootRow>('root'), placement: rowOf<PlacementRow>('placement') }),
      alarms: alarms.map(({ value }) => value),
      notices: [...notices()],
      disks: [...disks()],
    };
  },
});

const Worker = Type.String({ minLength: 1, description: 'Name or id of the worker' });

/** @throws TroupeError NOT_FOUND, CONFLICT */
function workerNamed({ system }: OperationContext, name: string): NodeStatus {
  const workers = system.nodes().filter(({ role }) => role === 'worker');
  const found = workers.filter((each) => each.node === name || each.name === name);
  const [worker] = found;
  if (worker === undefined) {
    const names = workers
      .map((each) => each.name)
      .toSorted()
      .join(', ');
    const known = names === '' ? 'there are none' : `there are ${names}`;
    throw new TroupeError('NOT_FOUND', `there is no worker ${name}: ${known}`);
  }
  if (found.length === 1) return worker;
  const ids = found.map(({ node }) => node).join(', ');
  throw new TroupeError(
    'CONFLICT',
    `${found.length} workers are named ${name}: give an id, ${ids}`,
  );
}

const drain = defineOperation({
  name: 'cluster.drain',
  scope: 'installation',
  summary: 'Drain a worker: it hands its shards over, and takes none until it is started again',
  params: Type.Object({ node: Worker }),
  result: Type.Object({ node: Type.String(), name: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'POST',
    path: '/v1/cluster/workers/{node}/drain',
    operationId: 'drainWorker',
    responses: { 200: 'Requested: `getCluster` shows how its shards move' },
  },
  cli: {
    command: 'cluster drain',
    args: ['node'],
    examples: ['troupe cluster drain worker-1'],
    print: ({ name }) =>
      `${name} hands its shards over. Watch it: troupe cluster --watch. Start it again to use it again\n`,
  },
  run(context, { node: named }) {
    const { system } = context;
    const { node, name } = workerNamed(context, named);
    const others = system.nodes().filter((each) => each.role === 'worker' && each.node !== node);
    if (!others.some(({ draining }) => !draining))
      throw new TroupeError('CONFLICT', `no other worker could own the shards of ${name}`);
    system.drain(node);
    return { node, name };
  },
});

const cordonParts = {
  scope: 'installation',
  params: Type.Object({ node: Worker }),
  result: Type.Object({ node: Type.String(), name: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
} as const;

const cordon = defineOperation({
  ...cordonParts,
  name: 'cluster.cordon',
  summary:
    'Cordon a worker: it keeps its shards and takes no others, until it is uncordoned or started again',
  http: {
    method: 'POST',
    path: '/v1/cluster/workers/{node}/cordon',
    operationId: 'cordonWorker',
    responses: { 200: 'Requested: `getCluster` shows it' },
  },
  cli: {
    command: 'cluster cordon',
    args: ['node'],
    examples: ['troupe cluster cordon worker-1'],
    print: ({ name }) => `${name} takes no more shards. Undo it: troupe cluster uncordon ${name}\n`,
  },
  run: (context, { node }) => setCordon(context, node, true),
});

const uncordon = defineOperation({
  ...cordonParts,
  name: 'cluster.uncordon',
  summary: 'Uncordon a worker: it takes shards again',
  http: {
    method: 'POST',
    path: '/v1/cluster/workers/{node}/uncordon',
    operationId: 'uncordonWorker',
    responses: { 200: 'Requested: `getCluster` shows it' },
  },
  cli: {
    command: 'cluster uncordon',
    args: ['node'],
    examples: ['troupe cluster uncordon worker-1'],
    print: ({ name }) => `${name} takes shards again\n`,
  },
  run: (context, { node }) => setCordon(context, node, false),
});

function setCordon(context: OperationContext, named: string, isCordoned: boolean) {
  const { node, name } = workerNamed(context, named);
  context.system.cordon(node, isCordoned);
  return { node, name };
}

export const cluster: Resource = {
  name: 'cluster',
  operations: [show, drain, cordon, uncordon],
};
