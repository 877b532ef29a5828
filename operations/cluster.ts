/** The processes and shards of the installation: how they are, and who owns what. */
import { Type } from '@sinclair/typebox';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
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

export const cluster: Resource = { name: 'cluster', operations: [show] };
