/** Approvals: questions of agents and processes that an operator decides. */
import type { ApprovalRow } from '../../../protocols/approval.ts';
import { shortAddress } from '../names.ts';
import { Action } from '../action.tsx';
import { stateColumn, timeColumn } from '../columns.tsx';
import type { DetailProps, ListDefinition } from '../list-view.tsx';
import { Facts, Part, Text, Time } from '../pane.tsx';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import { wordOf } from '../tones.ts';

const own = strings.approvals;
const STATES = ['asked', 'all', 'allowed', 'denied', 'expired'] as const;

export const approvals: ListDefinition<ApprovalRow> = {
  icon: 'approvals',
  title: own.title,
  isAudited: true,
  choices: [
    {
      name: 'state',
      label: strings.state,
      options: STATES.map((state) => [state, state === 'all' ? strings.all : wordOf(state)]),
    },
  ],
  read: async ({ workspace }, { state = 'asked' }) =>
    (await workspace.operate<{ approvals: readonly ApprovalRow[] }>('approvals.list', { state }))
      .approvals,
  idOf: ({ id }) => id,
  titleOf: ({ title }) => title,
  columns: [
    { name: own.command, text: ({ title }) => title, width: 'minmax(0, 3fr)' },
    { name: own.by, text: ({ by }) => shortAddress(by) },
    timeColumn(own.asked, ({ asked_at }) => Date.parse(asked_at)),
    stateColumn(({ state }) => state),
  ],
  empty: own.empty,
  details: (row, more) => <Details row={row} more={more} />,
};

const Details = ({ row, more }: { row: ApprovalRow; more: DetailProps }) => (
  <>
    <StatePill state={row.state} />
    <Text text={row.detail === '' ? row.title : row.detail} />
    {row.state === 'asked' && (
      <div class="buttons">
        {row.options.map(({ name }, at) => (
          <Action
            key={name}
            label={own.options[name] ?? name}
            {...(at === 0 ? { kind: 'primary' } : name === 'deny' ? { kind: 'danger' } : {})}
            run={() => more.workspace.operate('approvals.answer', { id: row.id, decision: name })}
            onDone={more.again}
          />
        ))}
      </div>
    )}
    <Part title={strings.details}>
      <Facts
        facts={[
          [own.by, shortAddress(row.by)],
          [own.asked, <Time at={Date.parse(row.asked_at)} />],
          [own.expires, row.state === 'asked' && <Time at={Date.parse(row.expires_at)} />],
          [own.decision, row.decision && (own.options[row.decision] ?? row.decision)],
          [own.decidedBy, row.decided_by],
          [strings.reason, row.why],
        ]}
      />
    </Part>
  </>
);
