/** Dead letters: messages that could not be delivered or processed, with redrive and drop. */
import { linkToView } from '../../routes.ts';
import { Action } from '../action.tsx';
import { timeColumn } from '../columns.tsx';
import { Failure, type DetailProps, type ListDefinition } from '../list-view.tsx';
import { shortAddress } from '../names.ts';
import { Facts, Json, Part, Time } from '../pane.tsx';
import { type Read, useReading } from '../reading.ts';
import { strings } from '../strings.ts';

/** The fields of a letter of `dead-letters.list` and `dead-letters.show` that the page uses. */
type Letter = {
  readonly domain: string;
  readonly position: number;
  readonly id: string;
  /** ISO 8601 */
  readonly at: string;
  readonly to: string;
  readonly from?: string;
  readonly reason: string;
  readonly error: { readonly code: string; readonly message: string };
  readonly event_type?: string;
};
type Detail = Letter & {
  readonly event?: unknown;
  readonly audits: readonly {
    readonly who: string;
    readonly why: string;
    readonly at: string;
    readonly action: string;
  }[];
};

const own = strings.deadLetters;
const LISTED_MAX = 1_000;

export const deadLetters: ListDefinition<Letter> = {
  icon: 'dead-letters',
  title: own.title,
  isAudited: true,
  read: async ({ workspace }) =>
    (
      await workspace.operate<{ dead_letters: readonly Letter[] }>('dead-letters.list', {
        limit: LISTED_MAX,
      })
    ).dead_letters,
  idOf: ({ domain, position }) => `${domain}/${position}`,
  titleOf: ({ event_type, domain, position }) => event_type ?? `${domain}/${position}`,
  columns: [
    {
      name: own.letter,
      text: ({ domain, position }) => `${domain}/${position}`,
      width: '9rem',
    },
    { name: own.message, text: ({ event_type = '' }) => event_type },
    { name: own.to, text: ({ to }) => shortAddress(to) },
    {
      name: strings.error,
      text: ({ error }) => `${error.code}: ${error.message}`,
      width: 'minmax(0, 2fr)',
    },
    timeColumn(own.at, ({ at }) => Date.parse(at)),
  ],
  empty: own.empty,
  details: (row, more) => <Details row={row} more={more} />,
};

const Details = ({ row, more }: { row: Letter; more: DetailProps }) => {
  const { workspace, again } = more;
  const { domain, position } = row;
  const reading = useReading(
    `letter ${domain}/${position}`,
    () => workspace.operate<Detail>('dead-letters.show', { domain, position }),
    0,
  );
  const act = (name: string) => (why: string) => workspace.operate(name, { domain, position, why });
  return (
    <>
      <p class="failed">
        {row.error.code}: {row.error.message}
      </p>
      <div class="buttons">
        <Action
          label={own.redrive}
          kind="primary"
          asks="why"
          run={act('dead-letters.redrive')}
          onDone={again}
        />
        <Action
          label={own.drop}
          kind="danger"
          asks="why"
          run={act('dead-letters.drop')}
          onDone={again}
        />
        <Links row={row} event={reading.value?.event} />
      </div>
      <Part title={strings.details}>
        <Facts
          facts={[
            [own.to, row.to],
            [own.from, row.from],
            [strings.reason, row.reason],
            [own.at, <Time at={Date.parse(row.at)} />],
            [own.id, row.id],
          ]}
        />
      </Part>
      <Message reading={reading} />
    </>
  );
};

/** To its receiver, its run, and the turn that sent it. */
const Links = ({ row: { to, from, at }, event }: { row: Letter; event: unknown }) => {
  const run = runIdIn(event);
  return (
    <>
      <a class="button" href={linkToView('actors', { item: to })}>
        {own.showActor}
      </a>
      {run !== undefined && (
        <a class="button" href={linkToView('runs', { item: run })}>
          {own.showRun}
        </a>
      )}
      {from?.split('/').length === 3 && (
        <a class="button" href={linkToView('actors', { item: from, at: String(Date.parse(at)) })}>
          {own.showTurn}
        </a>
      )}
    </>
  );
};

/** Messages of sessions name their run. */
const runIdIn = (event: unknown): string | undefined => {
  const { runId } = (event ?? {}) as { readonly runId?: unknown };
  return typeof runId === 'string' && runId !== '' ? runId : undefined;
};

/** The message itself, and what operators did about it. */
const Message = ({ reading }: { reading: Read<Detail> }) => {
  const { event, audits = [] } = reading.value ?? {};
  return (
    <>
      <Failure reading={reading} />
      {event !== undefined && (
        <Part title={own.message}>
          <Json value={event} />
        </Part>
      )}
      {audits.length > 0 && (
        <Part title={own.audits}>
          <ul class="plain-list">
            {audits.map(({ at, who, why, action }) => (
              <li key={at}>
                {action} · {who}: {why}
              </li>
            ))}
          </ul>
        </Part>
      )}
    </>
  );
};
