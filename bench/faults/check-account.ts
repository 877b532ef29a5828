/** `npm run bench -- account FILE`: counts the rows of an account again and compares. */
import { isDeepStrictEqual } from 'node:util';
import {
  type AccountDocument,
  readAccount,
  type ScenarioAccount,
  type Sum,
} from '../../loadtest/faults/document.ts';
import type { Row } from './evidence.ts';
import { nameOf, recount } from './recount.ts';

export type Check = {
  readonly text: string;
  /** the sums add up, the rows agree with the document, and nothing is lost or doubled */
  readonly passed: boolean;
};

/** @throws Error when a file is missing or no account */
export function checkAccount(file: string): Check {
  const { document, rows } = readAccount<Row>(file);
  const lines: string[] = [];
  const problems = [...strangers(document, rows)];
  for (const scenario of document.scenarios) {
    const own = rows.get(scenario.name) ?? [];
    const found = problemsOf(scenario, own);
    const state = found.length === 0 ? 'ok' : `${found.length} problems`;
    lines.push(`${scenario.name}: ${own.length} rows counted again: ${state}`);
    problems.push(...found);
  }
  const text = [...lines, ...problems.map((problem) => `  ${problem}`)].join('\n');
  return { text, passed: problems.length === 0 };
}

/** Rows of a scenario that the document does not have. */
function* strangers({ scenarios }: AccountDocument, rows: Map<string, Row[]>): Generator<string> {
  for (const name of rows.keys())
    if (!scenarios.some((one) => one.name === name)) yield `rows of an unknown scenario ${name}`;
}

function problemsOf(scenario: ScenarioAccount, rows: readonly Row[]): string[] {
  const { name, sums, findings, failed, leftOut } = scenario;
  if (failed !== undefined) return [`${name}: was not played to its end`];
  if (leftOut !== undefined) return [];
  const again = recount(rows);
  return [
    ...sums.filter((sum) => !addsUp(sum)).map(({ of }) => `${name}: the parts of "${of}" differ`),
    ...again.sums
      .filter((sum, at) => !isDeepStrictEqual(sum, sums[at]))
      .map(({ of, total }) => `${name}: "${of}" is ${total} by the rows, not as in the document`),
    ...(sums.length === again.sums.length ? [] : [`${name}: other totals than the rows have`]),
    ...repeated(rows).map((row) => `${name}: ${nameOf(row)} has more than one row`),
    ...again.lost.map((row) => `${name}: ${nameOf(row)} is lost`),
    ...again.doubled.map((row) => `${name}: ${nameOf(row)} is doubled`),
    ...findings.map(({ kind, text }) => `${name}: the auditor found (${kind}): ${text}`),
  ];
}

/** A copy in the place of another row would leave all totals as they are. */
function repeated(rows: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter((row) => {
    const key = `${row.kind} ${nameOf(row)}`;
    return seen.has(key) || !seen.add(key);
  });
}

const addsUp = ({ total, parts }: Sum): boolean =>
  Object.values(parts).reduce((all, part) => all + part, 0) === total;
