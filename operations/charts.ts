/** Charts: the statecharts of the actor types that this installation runs, with their drawings. */
import { Type } from '@sinclair/typebox';
import type { ChartSummary, PublishedChart } from '../charts/published.ts';
import { TroupeError } from '../protocols/errors.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';

/** A chart changes only with a new build. */
const CACHED = { 'cache-control': 'private, max-age=300' };

const list = defineOperation({
  name: 'charts.list',
  scope: 'tenant',
  summary: 'List the actor types with their versions',
  params: Type.Object({}),
  result: Type.Object({ charts: Type.Array(ObjectOf<ChartSummary>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/charts',
    operationId: 'listCharts',
    responses: { 200: 'The types, by name' },
  },
  run: ({ system }) => ({ charts: [...system.charts.list()] }),
});

const show = defineOperation({
  name: 'charts.show',
  scope: 'tenant',
  summary: 'Show the statechart of an actor type: states, transitions, drawings by depth',
  params: Type.Object({
    type: Type.String({ description: 'The actor type, such as session' }),
    version: Type.Optional(Type.Integer({ minimum: 1, description: 'Default: the highest' })),
    definition: Type.Optional(
      Type.Boolean({ description: 'With the configuration for createMachine, without functions' }),
    ),
  }),
  result: ObjectOf<PublishedChart>(),
  errors: ['NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/charts/{type}',
    operationId: 'getChart',
    responses: { 200: 'The chart; `levels` is empty where it cannot be laid out' },
    reply: () => ({ status: 200, headers: CACHED }),
  },
  async run({ system }, { type, ...options }) {
    const found = await system.charts.get(type, options);
    if (!found)
      throw new TroupeError('NOT_FOUND', `there is no actor type ${type} of that version`);
    return found;
  },
});

export const charts: Resource = { name: 'charts', operations: [list, show] };
