/** Columns and choices that several lists have. */
import { timeAgo } from '../times.ts';
import type { Choice } from './list-view.tsx';
import type { Column } from './rows.tsx';
import { StatePill } from './state-pill.tsx';
import { strings } from './strings.ts';
import { wordOf } from './tones.ts';

/** How long ago something happened. @param at epoch milliseconds */
export const timeColumn = <Row,>(name: string, at: (row: Row) => number): Column<Row> => ({
  name,
  text: (row) => timeAgo(at(row)),
  order: at,
  width: '8rem',
});

export const stateColumn = <Row,>(
  state: (row: Row) => string,
  name = strings.state,
): Column<Row> => ({
  name,
  text: (row) => wordOf(state(row)),
  show: (row) => <StatePill state={state(row)} />,
  width: '7rem',
});

/** Restricts the list to one state. @param name of the parameter in the address */
export const stateChoice = (name: string, states: readonly string[]): Choice => ({
  name,
  label: strings.state,
  options: [['', strings.anyState], ...states.map((state) => [state, wordOf(state)] as const)],
});
