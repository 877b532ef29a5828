/** Formats of records: what the processes of the cell read and write, and the end of an upgrade. */
import { Type } from '@sinclair/typebox';
import type { Finished, UpgradeProcess, UpgradeStatus } from '../protocols/upgrade.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { isoTime, table } from './text.ts';

/** Their commands are in cli/upgrade, because they also work while nothing runs. */
export const upgradeStatus = defineOperation({
  name: 'upgrade.status',
  scope: 'installation',
  summary: 'Show which formats of records the cell uses, and which each process reads and writes',
  params: Type.Object({}),
  result: ObjectOf<UpgradeStatus>(),
  errors: ['INTERNAL', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/upgrade',
    operationId: 'getUpgrade',
    responses: { 200: 'As the gateway knows it' },
  },
  run: ({ system }) => system.upgrade.status(),
});

export const upgradeFinish = defineOperation({
  name: 'upgrade.finish',
  scope: 'installation',
  summary: 'End an upgrade: write the newest format, which older versions of troupe refuse',
  params: Type.Object({}),
  result: ObjectOf<Finished>(),
  errors: ['CONFLICT', 'INTERNAL', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/upgrade/finish',
    operationId: 'finishUpgrade',
    responses: { 200: 'The cell uses the newest format; `raised` is false if it did before' },
  },
  run: ({ system, caller, now }) => system.upgrade.finish(caller.sub, now()),
});

export const upgrade: Resource = { name: 'upgrade', operations: [upgradeStatus, upgradeFinish] };

/** For a terminal. */
export function upgradeText(status: UpgradeStatus): string {
  const { program, cell, processes, finish } = status;
  const { raised } = cell;
  const since = raised
    ? ` since ${isoTime(raised.at)}, by ${raised.by}; before that ${raised.from}`
    : '';
  return [
    `records are written in format ${cell.format}${since}`,
    `the cell opens for programs that read format ${cell.minReader} or newer`,
    `troupe ${program.version} reads formats up to ${program.reads}`,
    ...(processes.length === 0
      ? ['no process runs']
      : ['', table(HEAD, processes.map(cells)).trimEnd(), ...differences(processes), '']),
    finishText(finish),
    '',
  ].join('\n');
}

const HEAD = ['process', 'role', 'version', 'reads up to', 'writes', 'shards'];

const cells = (one: UpgradeProcess): string[] => [
  one.name,
  one.role,
  one.version,
  String(one.reads),
  String(one.writes),
  one.shards.join(' '),
];

/** Types of actors that some processes run in other versions than others. Gateways run none. */
function differences(processes: readonly UpgradeProcess[]): string[] {
  const workers = processes.filter(({ role }) => role !== 'gateway');
  const types = [...new Set(workers.flatMap((one) => one.types.map(typeOf)))].toSorted();
  return types.flatMap((type) => {
    const versions = workers.map((one) => one.types.filter((each) => typeOf(each) === type));
    if (new Set(versions.map(String)).size <= 1) return [];
    const each = workers.map(({ name }, at) => `${name} ${versions[at]!.join(', ') || 'none'}`);
    return [`statechart ${type}: ${each.join('; ')}`];
  });
}

const typeOf = (name: string): string => name.slice(0, name.lastIndexOf('@'));

const finishText = ({ to, state, why }: UpgradeStatus['finish']): string =>
  state === 'done'
    ? 'finished: nothing to do'
    : state === 'allowed'
      ? `ready to write format ${to}: troupe upgrade finish. Before it, the former version can be started again; after it, no more`
      : `format ${to} cannot be written yet: ${why}`;
