/**
 * The account of all scenarios as files: a text that a person reads, the same as JSON, and one line
 * of JSON for each message. docs/faults.md says how to read and check them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { natsServers } from '../../test/servers/nats.ts';
import { type MachineFacts, machineFacts } from '../harness/computer.ts';
import type { InjectedFault } from './chronicle.ts';
import type { Row } from './evidence.ts';
import { type Finding, findingsOf } from './findings.ts';
import { recount, type Sum } from './recount.ts';
import type { Outcome } from './stage.ts';

export type ScenarioAccount = {
  readonly name: string;
  readonly what: string;
  readonly startedAt: string;
  readonly seconds: number;
  /** why it was not played to its end */
  readonly failed?: string;
  /** why it was not played */
  readonly leftOut?: string;
  readonly faults: readonly InjectedFault[];
  /** committed turns, or lines of transcripts */
  readonly turns: number;
  readonly sums: readonly Sum[];
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
};

export type AccountDocument = {
  readonly format: 1;
  readonly command: string;
  readonly seed: number;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly version: string;
  readonly nats: string;
  readonly machine: MachineFacts;
  /** name of the file of rows, in the same folder */
  readonly rows: string;
  readonly scenarios: readonly ScenarioAccount[];
};

type Head = Pick<AccountDocument, 'command' | 'seed' | 'startedAt' | 'version'>;

const NO_ACCOUNT = { faults: [], turns: 0, sums: [], findings: [], notes: [] };

/** Collects the accounts of the scenarios and writes them after each. */
export class AccountFiles {
  readonly #base: string;
  readonly #head: Head;
  readonly #scenarios: ScenarioAccount[] = [];

  /** @param file its extension is replaced: `.md`, `.json` and `.rows.jsonl` are written */
  constructor(file: string, head: Head) {
    this.#base = file.replace(/\.(md|json)$/, '');
    this.#head = head;
    writeFileSync(this.#rows, '');
  }

  played(outcome: Outcome): void {
    const { name, what, startedAt, seconds, faults, notes, messages: turns, rows } = outcome;
    const lines = rows.map((row) => `${JSON.stringify({ scenario: name, ...row })}\n`);
    writeFileSync(this.#rows, lines.join(''), { flag: 'a' });
    const { sums } = recount(rows);
    const findings = findingsOf(outcome);
    this.#add({ name, what, startedAt, seconds, faults, turns, sums, findings, notes });
  }

  notPlayed(scenario: { name: string; what: string; failed?: string; leftOut?: string }): void {
    const startedAt = new Date().toISOString();
    this.#add({ ...NO_ACCOUNT, ...scenario, startedAt, seconds: 0 });
  }

  #add(scenario: ScenarioAccount): void {
    this.#scenarios.push(scenario);
    const document: AccountDocument = {
      format: 1,
      ...this.#head,
      endedAt: new Date().toISOString(),
      nats: natsServers().at(-1)?.version ?? 'none',
      machine: machineFacts(),
      rows: basename(this.#rows),
      scenarios: this.#scenarios,
    };
    writeFileSync(`${this.#base}.json`, `${JSON.stringify(document, null, 1)}\n`);
    writeFileSync(`${this.#base}.md`, textOf(document, basename(this.#base)));
  }

  get #rows(): string {
    return `${this.#base}.rows.jsonl`;
  }
}

/** @throws Error when a file is missing or no account */
export function readAccount(file: string): { document: AccountDocument; rows: Map<string, Row[]> } {
  const base = file.replace(/\.(md|json)$/, '');
  const document = JSON.parse(readFileSync(`${base}.json`, 'utf8')) as AccountDocument;
  if (document.format !== 1) throw new Error(`${base}.json is no account of format 1`);
  const rows = new Map<string, Row[]>();
  for (const line of readFileSync(`${base}.rows.jsonl`, 'utf8').split('\n')) {
    if (line === '') continue;
    const { scenario, ...row } = JSON.parse(line) as Row & { scenario: string };
    rows.set(scenario, [...(rows.get(scenario) ?? []), row]);
  }
  return { document, rows };
}

// ---- the text

/** @param name of the files, without extension */
function textOf(document: AccountDocument, name: string): string {
  const { command, seed, startedAt, endedAt, version, nats, machine, scenarios } = document;
  return [
    '# Account of messages under faults',
    '',
    verdictOf(scenarios),
    '',
    `- Command: \`${command}\`, seed ${seed}`,
    `- From ${startedAt} to ${endedAt}`,
    `- troupe ${version}, nats-server ${nats}, Node ${machine.node}`,
    `- Machine: ${machine.cores} × ${machine.cpu}, ${machine.memoryMb} MB, ${machine.os}`,
    '',
    '| scenario | faults | turns | lost | doubled | other findings |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...scenarios.map(rowOf),
    '',
    ...scenarios.flatMap(scenarioText),
    ...checkText(name),
  ].join('\n');
}

const number = (scenario: ScenarioAccount, kind: Finding['kind']): number =>
  scenario.findings.filter((one) => one.kind === kind).length;

function verdictOf(scenarios: readonly ScenarioAccount[]): string {
  const all = (kind: Finding['kind']) =>
    scenarios.reduce((total, one) => total + number(one, kind), 0);
  const failed = scenarios.filter((one) => one.failed !== undefined);
  const missing = scenarios.filter((one) => one.leftOut !== undefined);
  const sentences = [
    `**Findings: ${all('lost')} of lost messages, ${all('doubled')} of doubled messages, ${all('other')} others.**`,
    ...failed.map(({ name }) => `The scenario ${name} was not played to its end.`),
    ...missing.map(({ name, leftOut }) => `The scenario ${name} was left out: ${leftOut}.`),
  ];
  return sentences.join(' ');
}

function rowOf(scenario: ScenarioAccount): string {
  const { name, faults, turns, failed, leftOut } = scenario;
  if (leftOut !== undefined) return `| ${name} | left out | | | | |`;
  if (failed !== undefined) return `| ${name} | failed | | | | |`;
  const found = (['lost', 'doubled', 'other'] as const).map((kind) => number(scenario, kind));
  return `| ${[name, faults.length, turns, ...found].join(' | ')} |`;
}

function scenarioText(scenario: ScenarioAccount): string[] {
  const { name, what, startedAt, seconds, faults, sums, findings, notes } = scenario;
  const head = [`## ${name}`, '', `${what.charAt(0).toUpperCase()}${what.slice(1)}.`, ''];
  const { failed, leftOut } = scenario;
  if (leftOut !== undefined) return [...head, `Left out: ${leftOut}.`, ''];
  if (failed !== undefined) return [...head, 'Not played to its end:', '', ...block(failed)];
  return [
    ...head,
    `Started ${startedAt}, lasted ${Math.round(seconds)} s.${notes.map((note) => ` ${note}.`).join('')}`,
    '',
    '| fault | began | ended | actors reply again after, ms |',
    '| --- | --- | --- | --- |',
    ...faults.map(faultRow),
    '',
    '| total | | parts |',
    '| --- | ---: | --- |',
    ...sums.map(sumRow),
    '',
    ...(findings.length === 0
      ? ['Nothing is lost, doubled or different.', '']
      : findings.flatMap(findingText)),
  ];
}

const faultRow = ({ what, beganAt, endedAt, recoveriesMs }: InjectedFault): string =>
  `| ${what} | ${timeOf(beganAt)} | ${endedAt ? timeOf(endedAt) : 'with the scenario'} | ${spreadOf(recoveriesMs)} |`;

const timeOf = (iso: string): string => iso.slice(11, 23);

function spreadOf(times: readonly number[]): string {
  if (times.length === 0) return '';
  const [least, most] = [Math.min(...times), Math.max(...times)].map(Math.round);
  return `${least} to ${most} (${times.length} shards)`;
}

const sumRow = ({ of, total, parts }: Sum): string =>
  `| ${of} | ${total} | ${Object.entries(parts)
    .map(([part, count]) => `${count} ${part}`)
    .join(' + ')} |`;

function findingText({ kind, text, ids, evidence }: Finding): string[] {
  return [
    `### ${kind}: ${ids.length > 0 ? ids.join(', ') : 'no message named'}`,
    '',
    text,
    '',
    ...(evidence.length === 0 ? [] : block(evidence.map((row) => JSON.stringify(row)).join('\n'))),
  ];
}

const block = (text: string): string[] => ['```', text, '```', ''];

const checkText = (name: string): string[] => [
  '## How to check it',
  '',
  `\`${name}.rows.jsonl\` has one line for each message: who sent it, when, the response, each stored copy with`,
  'its subject and position in NATS, and each turn that processed it with the position of its record.',
  '',
  '```',
  `npm run bench -- account ${name}.json   # counts the rows again, without the auditor`,
  `grep -c '"kind":"request"' ${name}.rows.jsonl   # requests that clients sent, of all scenarios`,
  `grep '"uid":"c3-7"' ${name}.rows.jsonl   # everything about one request`,
  '```',
  '',
];
