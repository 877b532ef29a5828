/** Totals of rows, each with the parts that add up to it. */
import type { Sum } from './document.ts';
import type { RunRow, TaskRow } from './rows.ts';

/** Counts the rows by the part that `partOf` names; parts in alphabetical order. */
export function sum<R>(of: string, rows: readonly R[], partOf: (row: R) => string): Sum {
  const parts: Record<string, number> = {};
  for (const row of rows) {
    const part = partOf(row);
    parts[part] = (parts[part] ?? 0) + 1;
  }
  const byName = Object.entries(parts).toSorted(([a], [b]) => a.localeCompare(b, 'en'));
  return { of, total: rows.length, parts: Object.fromEntries(byName) };
}

/** Totals of messages, runs and lines. */
export function runSums(rows: readonly RunRow[]): Sum[] {
  if (rows.length === 0) return [];
  const of = (role: 'user' | 'assistant') => rows.reduce((total, row) => total + row[role], 0);
  const [people, agents] = [of('user'), of('assistant')];
  return [
    sum('messages that people sent', rows, ({ accepted }) => (accepted ? 'accepted' : 'refused')),
    sum('runs', rows, ({ status }) => `ended ${status}`),
    {
      of: 'lines in transcripts',
      total: people + agents,
      parts: { 'of people': people, 'of agents': agents },
    },
  ];
}

/** Totals of envelopes. */
export function taskSums(rows: readonly { readonly kind: string }[]): Sum[] {
  const tasks = rows.filter((row): row is TaskRow => row.kind === 'task');
  return tasks.length === 0
    ? []
    : [sum('envelopes that programs sent', tasks, ({ state }) => `tasks in state ${state}`)];
}
