/** The account of a test of faults as text for a terminal. */
import { styleText } from 'node:util';
import { type Finding, type ScenarioAccount, spreadOf } from '../../../loadtest/faults/document.ts';
import { table } from '../../../operations/text.ts';
import { plainText } from '../../../protocols/plain-text.ts';

const FINDINGS_SHOWN_MAX = 20;
const EVIDENCE_SHOWN_MAX = 4;

/** Ends with a line break. @param out the file of the account */
export function faultsText(account: ScenarioAccount, seed: number, out?: string): string {
  const { what, seconds, faults, sums, findings, notes } = account;
  const faultRows = faults.map((fault) => [
    fault.beganAt.slice(11, 19),
    fault.what,
    spreadOf(fault.recoveriesMs, 'sessions'),
  ]);
  const all = faults.flatMap(({ recoveriesMs }) => recoveriesMs);
  const sumRows = sums.map(({ of, total, parts }) => [of, String(total), partsText(parts)]);
  return [
    `\n${bold(`${faults.length} faults in ${Math.round(seconds)} s: ${what}, seed ${seed}`)}\n`,
    faultRows.length === 0
      ? ''
      : `${table(['began', 'fault', 'answers again after, ms'], faultRows)}\n`,
    all.length === 0 ? '' : `All faults: ${spreadOf(all, 'answers')}, in ms.\n\n`,
    table(['counted', 'total', 'parts'], sumRows),
    ...notes.map((note) => `${plainText(note)}\n`),
    `\n${bold(verdictOf(findings))}\n`,
    ...findings.slice(0, FINDINGS_SHOWN_MAX).map(findingText),
    findings.length > FINDINGS_SHOWN_MAX
      ? `and ${findings.length - FINDINGS_SHOWN_MAX} more${out === undefined ? ': --out FILE has all of them' : ''}\n`
      : '',
    out === undefined ? '' : `\nThe account: ${out.replace(/\.(md|json)$/, '')}.md\n`,
  ].join('');
}

const partsText = (parts: Readonly<Record<string, number>>): string =>
  Object.entries(parts)
    .map(([part, count]) => `${count} ${part}`)
    .join(' + ');

function verdictOf(findings: readonly Finding[]): string {
  const count = (kind: Finding['kind']) => findings.filter((one) => one.kind === kind).length;
  return findings.length === 0
    ? 'Nothing is lost, doubled or different.'
    : `Findings: ${count('lost')} lost, ${count('doubled')} doubled, ${count('other')} others.`;
}

function findingText({ kind, text, evidence }: Finding): string {
  const seen = evidence.slice(0, EVIDENCE_SHOWN_MAX).map((one) => `    ${JSON.stringify(one)}\n`);
  return `  ${kind}: ${plainText(text)}\n${seen.map((line) => plainText(line.trimEnd())).join('\n')}\n`;
}

const bold = (text: string): string =>
  styleText('bold', plainText(text), { stream: process.stdout });
