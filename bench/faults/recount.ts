/**
 * Counts the rows of an account again, by rules of its own: it uses nothing of the auditor. So an
 * error of the auditor shows as a difference.
 */
import type { Sum } from '../../loadtest/faults/document.ts';
import { runSums, sum, taskSums } from '../../loadtest/faults/sums.ts';
import type { CountRow, EffectRow, MessageRow, RequestRow, Row, TurnRow } from './evidence.ts';

export type Recount = {
  readonly sums: readonly Sum[];
  readonly lost: readonly Row[];
  readonly doubled: readonly Row[];
};

type Verdict = 'lost' | 'doubled' | undefined;

export function recount(rows: readonly Row[]): Recount {
  const lost: Row[] = [];
  const doubled: Row[] = [];
  for (const row of rows) {
    const verdict = verdictOf(row);
    if (verdict === 'lost') lost.push(row);
    if (verdict === 'doubled') doubled.push(row);
  }
  return { sums: sumsOf(rows), lost, doubled };
}

/** Names the message or effect of a row. */
export function nameOf(row: Row): string {
  if (row.kind === 'request') return row.uid;
  if (row.kind === 'run') return row.runId;
  if (row.kind === 'task') return row.key;
  return row.kind === 'count' ? row.actor : row.id;
}

function verdictOf(row: Row): Verdict {
  switch (row.kind) {
    case 'request':
      return requestVerdict(row);
    case 'message':
      return row.waits ? undefined : byNumber(endsOf(row));
    case 'effect':
      return row.cls === 'once' && row.starts > 1 + row.again ? 'doubled' : undefined;
    case 'count':
      if (row.counted < row.accepted) return 'lost';
      return row.counted > row.accepted + row.unsure ? 'doubled' : undefined;
    case 'run':
      if (row.user > 1 || row.assistant > 1) return 'doubled';
      return row.accepted && (row.user < 1 || row.assistant < 1) ? 'lost' : undefined;
    case 'task':
      return row.ids.length === 1 ? undefined : row.ids.length > 1 ? 'doubled' : 'lost';
  }
}

function requestVerdict({ outcome, keyed, copies }: RequestRow): Verdict {
  if (copies === 'trimmed') return undefined;
  const lasting = copies.flatMap(({ turns, letter }) => [
    ...turns.filter((turn) => turn.lasting),
    ...(letter === 'COALESCED' ? [letter] : []),
  ]).length;
  const ends = keyed ? lasting : Math.max(0, ...copies.map(endsOf));
  if (ends > 1) return 'doubled';
  if (outcome !== 'accepted' && outcome !== 'answered') return undefined;
  const waits = copies.some(({ turns }) => turns.some(({ result }) => result === 'stashed'));
  return copies.every((copy) => endsOf(copy) === 0) && !waits ? 'lost' : undefined;
}

type Ended = { readonly turns: readonly TurnRow[]; readonly letter?: string };

const endsOf = ({ turns, letter }: Ended): number =>
  turns.filter(({ final }) => final).length + (letter ? 1 : 0);

const byNumber = (ends: number): Verdict =>
  ends === 1 ? undefined : ends === 0 ? 'lost' : 'doubled';

/** How a message ended: `applied` if one turn applied it. */
function endOf(ended: readonly Ended[]): string {
  const finals = ended.flatMap(({ turns }) => turns.filter(({ final }) => final));
  if (finals.some(({ result }) => result === 'applied')) return 'applied';
  const [first] = finals;
  if (first) return first.result;
  if (ended.some(({ letter }) => letter)) return 'dropped with a dead letter';
  const waits = ended.some(({ turns }) => turns.some(({ result }) => result === 'stashed'));
  return waits ? 'waiting in a stash' : 'without an end';
}

function sumsOf(rows: readonly Row[]): Sum[] {
  const of = <K extends Row['kind']>(kind: K) =>
    rows.filter((row): row is Extract<Row, { kind: K }> => row.kind === kind);
  return [
    ...requestSums(of('request')),
    ...messageSums(of('message')),
    ...effectSums(of('effect')),
    ...countSums(of('count')),
    ...runSums(of('run')),
    ...taskSums(rows),
  ];
}

function requestSums(rows: readonly RequestRow[]): Sum[] {
  if (rows.length === 0) return [];
  const kept = rows.filter(({ copies }) => copies !== 'trimmed');
  const accepted = kept.filter(({ outcome }) => outcome === 'accepted' || outcome === 'answered');
  return [
    sum('requests that clients sent', rows, ({ outcome }) => OUTCOMES[outcome]),
    ...(kept.length === 0
      ? []
      : [
          sum('requests that were accepted or answered', accepted, ({ copies }) =>
            endOf(copies as Exclude<typeof copies, 'trimmed'>),
          ),
        ]),
  ];
}

const OUTCOMES: Readonly<Record<RequestRow['outcome'], string>> = {
  accepted: 'accepted',
  answered: 'answered',
  refused: 'refused',
  unsure: 'without a response',
  pending: 'never completed',
};

const messageSums = (rows: readonly MessageRow[]): Sum[] =>
  rows.length === 0
    ? []
    : [
        sum('messages that actors sent to actors', rows, (row) =>
          row.waits ? 'waiting in a stash' : endOf([row]),
        ),
      ];

const effectSums = (rows: readonly EffectRow[]): Sum[] =>
  rows.length === 0 ? [] : [sum('effects that started', rows, ({ cls }) => `of class ${cls}`)];

function countSums(rows: readonly CountRow[]): Sum[] {
  if (rows.length === 0) return [];
  const all = (of: (row: CountRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  const accepted = all((row) => row.accepted);
  const counted = all((row) => row.counted);
  const parts = { 'accepted asks': accepted, 'asks without a response': counted - accepted };
  return [{ of: 'asks that actors counted', total: counted, parts }];
}
