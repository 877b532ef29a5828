/**
 * The account of all scenarios as files: a text that a person reads, the same as JSON, and one line
 * of JSON for each message. docs/faults.md says how to read and check them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { InjectedFault } from './chronicle.ts';

/** A total and the parts that add up to it. */
export type Sum = {
  readonly of: string;
  readonly total: number;
  readonly parts: Readonly<Record<string, number>>;
};

export type Finding = {
  readonly kind: 'lost' | 'doubled' | 'other';
  /** one sentence that names the message */
  readonly text: string;
  /** of the messages and effects that it names */
  readonly ids: readonly string[];
  /** what was seen: rows of the account, lines of transcripts */
  readonly evidence: readonly object[];
};

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
  /** what was counted: committed turns, or lines of transcripts */
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
  /** of troupe */
  readonly version: string;
  /** of nats-server; `none` without one */
  readonly nats: string;
  readonly machine: Machine;
  /** name of the file of rows, in the same folder */
  readonly rows?: string;
  readonly scenarios: readonly ScenarioAccount[];
};

type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryMb: number;
  readonly node: string;
  readonly os: string;
};

export type AccountHead = Pick<
  AccountDocument,
  'command' | 'seed' | 'startedAt' | 'version' | 'nats' | 'machine'
>;

/** What a text says about its faults and its check. */
export type AccountWords = {
  /** what did not answer after a fault: `shards` or `sessions` */
  readonly affected: string;
  /** the unit of `turns` */
  readonly counted: string;
  /** paragraphs on how to check it. @param name of the files, without extension */
  readonly check: (name: string) => readonly string[];
};

export type PlayedScenario = ScenarioAccount & { readonly rows: readonly object[] };

const NO_ACCOUNT = { faults: [], turns: 0, sums: [], findings: [], notes: [] };

/** Collects the accounts of the scenarios and writes them after each. */
export class AccountFiles {
  readonly #base: string;
  readonly #head: AccountHead;
  readonly #words: AccountWords;
  readonly #scenarios: ScenarioAccount[] = [];

  /** @param file its extension is replaced: `.md`, `.json` and `.rows.jsonl` are written */
  constructor(file: string, head: AccountHead, words: AccountWords) {
    this.#base = file.replace(/\.(md|json)$/, '');
    this.#head = head;
    this.#words = words;
    writeFileSync(this.#rows, '');
  }

  played({ rows, ...scenario }: PlayedScenario): void {
    const { name } = scenario;
    const lines = rows.map((row) => `${JSON.stringify({ scenario: name, ...row })}\n`);
    writeFileSync(this.#rows, lines.join(''), { flag: 'a' });
    this.#add(scenario);
  }

  notPlayed(scenario: { name: string; what: string; failed?: string; leftOut?: string }): void {
    const startedAt = new Date().toISOString();
    this.#add({ ...NO_ACCOUNT, ...scenario, startedAt, seconds: 0 });
  }

  #add(scenario: ScenarioAccount): void {
    this.#scenarios.push(scenario);
    const rows = basename(this.#rows);
    const document = { ...accountDocument(this.#head, this.#scenarios), rows };
    writeFileSync(`${this.#base}.json`, `${JSON.stringify(document, null, 1)}\n`);
    writeFileSync(`${this.#base}.md`, textOf(document, basename(this.#base), this.#words));
  }

  get #rows(): string {
    return `${this.#base}.rows.jsonl`;
  }
}

export const accountDocument = (
  head: AccountHead,
  scenarios: readonly ScenarioAccount[],
): AccountDocument => ({ format: 1, ...head, endedAt: new Date().toISOString(), scenarios });

/** @throws Error when a file is missing or no account */
export function readAccount<Row extends object>(
  file: string,
): { document: AccountDocument; rows: Map<string, Row[]> } {
  const base = file.replace(/\.(md|json)$/, '');
  const document = JSON.parse(readFileSync(`${base}.json`, 'utf8')) as AccountDocument;
  if (document.format !== 1) throw new Error(`${base}.json is no account of format 1`);
  const rows = new Map<string, Row[]>();
  for (const line of readFileSync(`${base}.rows.jsonl`, 'utf8').split('\n')) {
    if (line === '') continue;
    const { scenario, ...row } = JSON.parse(line) as Row & { scenario: string };
    rows.set(scenario, [...(rows.get(scenario) ?? []), row as unknown as Row]);
  }
  return { document, rows };
}

// ---- the text

/** @param name of the files, without extension */
function textOf(document: AccountDocument, name: string, words: AccountWords): string {
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
    `| scenario | faults | ${words.counted} | lost | doubled | other findings |`,
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...scenarios.map(rowOf),
    '',
    ...scenarios.flatMap((scenario) => scenarioText(scenario, words)),
    '## How to check it',
    '',
    ...words.check(name),
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

function scenarioText(scenario: ScenarioAccount, { affected }: AccountWords): string[] {
  const { name, what, startedAt, seconds, faults, sums, findings, notes } = scenario;
  const head = [`## ${name}`, '', `${what.charAt(0).toUpperCase()}${what.slice(1)}.`, ''];
  const { failed, leftOut } = scenario;
  if (leftOut !== undefined) return [...head, `Left out: ${leftOut}.`, ''];
  if (failed !== undefined) return [...head, 'Not played to its end:', '', ...block(failed)];
  return [
    ...head,
    `Started ${startedAt}, lasted ${Math.round(seconds)} s.${notes.map((note) => ` ${note}.`).join('')}`,
    '',
    `| fault | began | ended | ${affected} answer again after, ms |`,
    '| --- | --- | --- | --- |',
    ...faults.map((fault) => faultRow(fault, affected)),
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

const faultRow = (
  { what, beganAt, endedAt, recoveriesMs }: InjectedFault,
  affected: string,
): string =>
  `| ${what} | ${timeOf(beganAt)} | ${endedAt ? timeOf(endedAt) : 'with the scenario'} | ${spreadOf(recoveriesMs, affected)} |`;

const timeOf = (iso: string): string => iso.slice(11, 23);

/** `612 to 900, p50 640 (12 sessions)`; empty without times. */
export function spreadOf(times: readonly number[], affected: string): string {
  if (times.length === 0) return '';
  const sorted = times.map(Math.round).toSorted((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  return `${sorted[0]} to ${sorted.at(-1)}, p50 ${middle} (${times.length} ${affected})`;
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
