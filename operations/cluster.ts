/** The processes and shards of the installation: how they are, and who owns what. */
import { Type } from '@sinclair/typebox';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { AlarmRow, PlacementRow, RootRow } from '../protocols/supervision.ts';
import type { NodeStatus, ShardStatus } from '../runtime/index.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';

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
  }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/cluster',
    operationId: 'getCluster',
    responses: { 200: 'As the gateway knows it' },
  },
  run({ system }) {
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
    };
  },
});

const drain = defineOperation({
  name: 'cluster.drain',
  scope: 'installation',
  summary: 'Drain a worker: it hands its shards over, and takes none until it is started again',
  params: Type.Object({ node: Type.String({ description: 'Id of the worker, from the cluster' }) }),
  result: Type.Object({ node: Type.String() }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'POST',
    path: '/v1/cluster/workers/{node}/drain',
    operationId: 'drainWorker',
    responses: { 200: 'Requested: `getCluster` shows how its shards move' },
  },
  run({ system }, { node }) {
    const workers = system.nodes().filter(({ role }) => role === 'worker');
    if (!workers.some((each) => each.node === node))
      throw new TroupeError('NOT_FOUND', `there is no worker ${node}`);
    if (!workers.some((each) => each.node !== node && !each.draining))
      throw new TroupeError('CONFLICT', `no other worker could own the shards of ${node}`);
    system.drain(node);
    return { node };
  },
});

export const cluster: Resource = { name: 'cluster', operations: [show, drain] };
