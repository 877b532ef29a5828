/** Service level objectives: whether the cell meets its targets. */
import { Type } from '@sinclair/typebox';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { type Objective, SLO_HOURS_MAX, type SloReport, sloReport } from './slo-report.ts';
import { table } from './text.ts';

const report = defineOperation({
  name: 'slo',
  scope: 'any-tenant',
  summary: 'Show whether the cell meets its objectives',
  params: Type.Object({
    hours: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SLO_HOURS_MAX,
        description: `Length of the period that ends now, 1 to ${SLO_HOURS_MAX}; default ${SLO_HOURS_MAX}`,
      }),
    ),
  }),
  result: ObjectOf<SloReport>(),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/slo',
    operationId: 'getSlo',
    responses: { 200: 'The report' },
  },
  cli: {
    command: 'slo',
    examples: ['troupe slo', 'troupe slo --hours 1 --json'],
    print: reportText,
    // An objective without measurements is neither met nor missed.
    isFailure: ({ kept }) => !kept,
  },
  run: ({ system: { index, deadLetters }, metrics, tenant, now }, { hours = SLO_HOURS_MAX }) =>
    sloReport({ index, deadLetters, metrics, tenant, hours, now: now() }),
});

export const slo: Resource = {
  name: 'slo',
  operations: [report],
};

function reportText({ tenant, hours, tasks, estimated, objectives }: SloReport): string {
  const head = ['objective', 'target', 'measured', 'samples', 'met', 'meaning'];
  const count = `${estimated ? 'about ' : ''}${tasks}`;
  return `${count} tasks of ${tenant} in ${hours} h\n${table(head, objectives.map(cells))}`;
}

const cells = ({ name, target, measured, unit, samples, kept, what }: Objective): string[] => [
  name,
  `<= ${valueText(target, unit)}`,
  measured === null ? '-' : valueText(measured, unit),
  String(samples),
  kept === null ? 'no data' : kept ? 'yes' : 'NO',
  what,
];

const valueText = (value: number, unit: Objective['unit']): string =>
  unit === 'ratio' ? `${(value * 100).toFixed(3)} %` : `${Math.round(value * 10) / 10} ${unit}`;
