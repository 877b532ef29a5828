/** Audit: who did what through the gateway, by day. */
import type { AuditActionsListResult } from '../../../protocols/gateway/index.ts';
import { stateColumn } from '../columns.tsx';
import type { ListDefinition } from '../list-view.tsx';
import { Facts, Time } from '../pane.tsx';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import { wordOf } from '../tones.ts';

type Record = AuditActionsListResult['records'][number];

const own = strings.audit;
const OUTCOMES = ['begun', 'done', 'failed', 'refused'];
const LISTED_MAX = 500;
const DAY_MS = 86_400_000;
const DAYS = 14;

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

const targets = ({ on = {} }: Record): string => Object.values(on).join(', ');

export const audit: ListDefinition<Record> = {
  icon: 'audit',
  title: own.title,
  isAudited: true,
  choices: [
    {
      name: 'day',
      label: own.day,
      options: [
        ['', own.newest],
        ...Array.from({ length: DAYS }, (_, days) => [dayBefore(days), dayBefore(days)] as const),
      ],
    },
    {
      name: 'outcome',
      label: own.outcome,
      options: [['', strings.all], ...OUTCOMES.map((each) => [each, wordOf(each)] as const)],
    },
  ],
  read: async ({ workspace }, { day }) =>
    (
      await workspace.request<AuditActionsListResult>('audit.actions.list', {
        limit: LISTED_MAX,
        ...(day === undefined ? {} : { day }),
      })
    ).records,
  matches: ({ outcome }, params) => (params['outcome'] ?? outcome) === outcome,
  idOf: ({ position }) => String(position),
  titleOf: ({ action }) => action,
  columns: [
    { name: own.action, text: ({ action }) => action, width: 'minmax(0, 1.5fr)' },
    { name: own.who, text: ({ who }) => who },
    { name: own.on, text: targets, width: 'minmax(0, 1.5fr)' },
    {
      name: own.at,
      text: ({ at }) => strings.time(at),
      order: ({ at }) => at,
      width: '12rem',
    },
    stateColumn(({ outcome }) => outcome, own.outcome),
  ],
  empty: own.empty,
  details: (row) => (
    <>
      <StatePill state={row.outcome} />
      <Facts
        facts={[
          [own.at, <Time at={row.at} />],
          [own.who, row.who],
          [own.by, row.by],
          [own.device, row.deviceId],
          [own.address, row.ip],
          ...Object.entries(row.on ?? {}),
          [own.code, row.code],
        ]}
      />
    </>
  ),
};
