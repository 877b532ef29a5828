/** Findings: each problem of an account with the ids of its messages and their rows as evidence. */
import type { Finding } from '../../loadtest/faults/document.ts';
import type { Row } from './evidence.ts';
import { nameOf } from './recount.ts';
import type { Outcome } from './stage.ts';

/** Rows of evidence that one finding shows; more are in the file of rows. */
const EVIDENCE_MAX = 5;

export function findingsOf(outcome: Outcome): Finding[] {
  const rows = new Map<string, Row>();
  for (const row of outcome.rows) {
    rows.set(nameOf(row), row);
    if (row.kind === 'request' && row.copies !== 'trimmed')
      for (const { id } of row.copies) rows.set(id, row);
  }
  const finding = (kind: Finding['kind'], text: string): Finding => {
    const named = [...wordsOf(text), ...placesOf(text, outcome.idAt)];
    const ids = [...new Set(named.filter((id) => rows.has(id)))];
    const evidence = [...new Set(ids.map((id) => rows.get(id)!))].slice(0, EVIDENCE_MAX);
    return { kind, text, ids, evidence };
  };
  const { lost, doubled, other } = outcome;
  return [
    ...lost.map((text) => finding('lost', text)),
    ...doubled.map((text) => finding('doubled', text)),
    ...other.map((text) => finding('other', text)),
  ];
}

const wordsOf = (text: string): string[] => text.split(/[\s(),]+|:\s/);

/** `shard 3: entry m12 has no turn` names a message by its place. */
function placesOf(text: string, idAt: Outcome['idAt']): string[] {
  const [, shard, input] = /shard (\d+): (?:entry|input) ([mc]\d+)/.exec(text) ?? [];
  const id = input === undefined ? undefined : idAt(Number(shard), input);
  return id === undefined ? [] : [id];
}
