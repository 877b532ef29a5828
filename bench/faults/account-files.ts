/** The files of an account of this bench: docs/faults.md says how to read and check them. */
import {
  type AccountHead,
  AccountFiles,
  type AccountWords,
  type PlayedScenario,
} from '../../loadtest/faults/document.ts';
import { natsServers } from '../../test/servers/nats.ts';
import { machineFacts } from '../harness/computer.ts';
import { findingsOf } from './findings.ts';
import { recount } from './recount.ts';
import type { Outcome } from './stage.ts';

/** @param file as `AccountFiles` */
export const accountFiles = (
  file: string,
  head: Omit<AccountHead, 'nats' | 'machine'>,
): AccountFiles => {
  const nats = natsServers().at(-1)?.version ?? 'none';
  return new AccountFiles(file, { ...head, nats, machine: machineFacts() }, words);
};

export function playedOf(outcome: Outcome): PlayedScenario {
  const { name, what, startedAt, seconds, faults, notes, messages: turns, rows } = outcome;
  const [{ sums }, findings] = [recount(rows), findingsOf(outcome)];
  return { name, what, startedAt, seconds, faults, turns, sums, findings, notes, rows };
}

const words: AccountWords = {
  affected: 'shards',
  counted: 'turns',
  check: (name) => [
    `\`${name}.rows.jsonl\` has one line for each message: who sent it, when, the response, each stored copy with`,
    'its subject and position in NATS, and each turn that processed it with the position of its record.',
    '',
    '```',
    `npm run bench -- account ${name}.json   # counts the rows again, without the auditor`,
    `grep -c '"kind":"request"' ${name}.rows.jsonl   # requests that clients sent, of all scenarios`,
    `grep '"uid":"c3-7"' ${name}.rows.jsonl   # everything about one request`,
    '```',
    '',
  ],
};
