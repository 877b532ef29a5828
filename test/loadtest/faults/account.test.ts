/**
 * The auditor of `troupe bench faults` is tested, too. The real program is killed under load, which
 * must lose nothing; then what was collected is altered, and what the gateway answers passes a
 * proxy that drops or doubles a line. Each planted error must be found, by the id of its message.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OwnCell, startOwnCell } from '../../../cli/bench/faults/own-cell.ts';
import {
  type Account,
  accountOf,
  type Collected,
  type Line,
} from '../../../loadtest/faults/account.ts';
import { type FaultOutcome, type FaultPlan, runFaults } from '../../../loadtest/faults/run.ts';
import { scriptOf } from '../../../loadtest/model-server/script.ts';
import { type ModelServer, startModelServer } from '../../../loadtest/model-server/server.ts';
import { bundle, ensureBuilt } from '../../../tools/build.mjs';
import { transcriptProxy } from './transcript-proxy.ts';

const plan: FaultPlan = {
  kinds: ['kill'],
  count: 2,
  durationMs: 0,
  everyMs: 500,
  ratePerSecond: 10,
  envelopes: 0.3,
  sessions: 3,
  seed: 4,
  settleMs: 60_000,
};
const silent = {
  phase: () => {},
  glance: () => {},
  begun: () => {},
  recovered: () => {},
};
const { signal } = new AbortController();

let model: ModelServer;
let own: OwnCell;
const crashes: string[] = [];

const run = (testId: string, more: Partial<FaultPlan> = {}, client = own.client) => {
  const { cell, programs } = own;
  const test = { cell, client, programs, testId, crashes, signal, show: silent };
  return runFaults({ ...test, plan: { ...plan, ...more } });
};

const shown = ({ findings }: Account) => findings.map(({ kind, text }) => `${kind}: ${text}`);

beforeAll(async () => {
  ensureBuilt();
  const script = scriptOf({ latency: 'uniform:20ms..200ms', tokens: '5' });
  model = await startModelServer({ script, seed: 1, port: 0 });
  const onCrash = (name: string, how: string) => void crashes.push(`${name}: ${how}`);
  own = await startOwnCell({ script: bundle, model, onCrash }, signal);
}, 120_000);

afterAll(async () => {
  await own?.stop();
  await model?.close();
});

describe('the account of a test of faults', () => {
  let outcome: FaultOutcome;
  let collected: Collected;
  beforeAll(async () => {
    outcome = await run('real');
    ({ collected } = outcome);
  }, 120_000);

  /** The account after the lines of one session are changed. */
  const withLines = (change: (lines: readonly Line[]) => readonly Line[]): Account => {
    const transcripts = new Map(collected.transcripts);
    transcripts.set(session, change(transcripts.get(session)!));
    return accountOf({ ...collected, transcripts });
  };
  let session: string;
  let runId: string;
  beforeAll(() => {
    ({ session, runId } = collected.messages[0]!);
  });
  const isOf = (role: string) => (line: Line) => line.runId === runId && line.role === role;

  it('of the killed program has no findings, and every message and envelope with one end', () => {
    expect(shown(outcome)).toEqual([]);
    expect(crashes).toEqual([]);
    expect(outcome.faults).toHaveLength(2);
    for (const { what, recoveriesMs } of outcome.faults) {
      expect(what).toMatch(/^kill -9 of troupe/);
      expect(recoveriesMs).toHaveLength(plan.sessions);
    }
    const [sent, runs, lines, envelopes] = outcome.sums;
    expect(sent!.parts).toEqual({ accepted: sent!.total });
    expect(runs!.parts).toEqual({ 'ended ok': sent!.total });
    expect(lines!.total).toBe(2 * sent!.total);
    expect(sent!.total).toBeGreaterThan(6);
    expect(envelopes!.parts).toEqual({ 'tasks in state SUCCEEDED': envelopes!.total });
    expect(outcome.rows).toHaveLength(sent!.total + envelopes!.total);
  });

  it('names a message that the transcript lacks, with what was seen', () => {
    const account = withLines((lines) => lines.filter((line) => !isOf('user')(line)));
    expect(shown(account)).toEqual([
      `lost: message ${runId} of ${session}: it was accepted, and the transcript lacks it`,
    ]);
    const [{ ids, evidence }] = account.findings as [Account['findings'][number]];
    expect(ids).toEqual([runId]);
    expect(evidence).toMatchObject([{ user: 0, assistant: 1 }, { role: 'assistant' }]);
  });

  it('names an answer that the transcript lacks', () => {
    const account = withLines((lines) => lines.filter((line) => !isOf('assistant')(line)));
    expect(shown(account)).toEqual([
      `lost: message ${runId} of ${session}: its run ended, and the transcript lacks the answer`,
    ]);
  });

  it.each([
    ['user', 'the transcript has it 2 times'],
    ['assistant', 'it has 2 answers'],
  ])('names a doubled line of role %s', (role, text) => {
    const double = (lines: readonly Line[]) => [...lines, lines.find(isOf(role))!];
    expect(shown(withLines(double))).toEqual([`doubled: message ${runId} of ${session}: ${text}`]);
  });

  it('names lines that no client sent, and another text under an id', () => {
    const line = { role: 'user', runId: 'of-another', text: 'x' };
    expect(shown(withLines((lines) => [...lines, line]))).toEqual([
      `other: ${session} has a line of the run of-another, which no client sent there`,
    ]);
    const replaced = withLines((lines) =>
      lines.map((each) => (isOf('user')(each) ? { ...each, text: 'x' } : each)),
    );
    expect(shown(replaced)).toEqual([
      `other: message ${runId} of ${session}: the transcript has another text under its id`,
    ]);
  });

  it('names runs without an end, with an error, and messages that were never accepted', () => {
    const [first, ...rest] = collected.messages;
    const { status: _, answeredAt: __, ...open } = first!;
    const accountWith = (message: Collected['messages'][number]) =>
      shown(accountOf({ ...collected, messages: [message, ...rest] }));
    const where = `message ${runId} of ${session}`;
    expect(accountWith(open)).toEqual([`lost: ${where}: it was accepted, and its run has no end`]);
    expect(accountWith({ ...first!, status: 'error', error: 'no model' })).toEqual([
      `other: ${where}: its run ended with an error: no model`,
    ]);
    const { acceptedAt: ___, ...refused } = open;
    expect(accountWith({ ...refused, lastError: 'UNAVAILABLE' })).toEqual([
      `other: ${where}: it was never accepted; the last response was UNAVAILABLE`,
    ]);
  });

  it('names tasks that are unknown, doubled, open, or have another result', () => {
    const [first, ...rest] = collected.tasks;
    const accountWith = (
      task: Partial<Collected['tasks'][number]>,
      shownTasks = collected.shownTasks,
    ) => shown(accountOf({ ...collected, tasks: [{ ...first!, ...task }, ...rest], shownTasks }));
    const id = first!.ids[0]!;
    const where = `envelope ${first!.key}`;
    const others = [...collected.shownTasks].filter(([each]) => each !== id);
    expect(accountWith({}, new Map(others))).toEqual([
      `lost: ${where}: it was accepted, and its task is unknown`,
    ]);
    expect(accountWith({ ids: [id, 'task-2'] })).toEqual([
      `doubled: ${where}: it has 2 tasks: ${id}, task-2`,
    ]);
    expect(accountWith({}, new Map([...others, [id, { state: 'FAILED' }]]))).toEqual([
      `other: ${where}: its task ended with FAILED`,
    ]);
    expect(accountWith({ text: 'another' })).toEqual([
      `other: ${where}: its task has another result`,
    ]);
    const { state: _, ...open } = first!;
    expect(shown(accountOf({ ...collected, tasks: [open, ...rest] }))).toEqual([
      `lost: ${where}: its task has no end: SUCCEEDED`,
    ]);
  });
});

describe('a gateway whose answers pass a proxy', () => {
  /** Without faults: what the proxy does is the only error. */
  const through = async (change: (lines: readonly unknown[]) => readonly unknown[], id: string) => {
    const proxy = await transcriptProxy(own.cell.url, change);
    const client = own.connect(proxy.url);
    try {
      return await run(id, { count: 0, sessions: 1, everyMs: 200 }, client);
    } finally {
      client.close();
      await proxy.close();
    }
  };

  it('that drops a line loses a message', async () => {
    const { findings } = await through((lines) => lines.slice(1), 'drop');
    expect(findings).toMatchObject([{ kind: 'lost', ids: ['m-drop-1'] }]);
  }, 60_000);

  it('that doubles a line has a doubled message', async () => {
    const { findings } = await through(([first, ...rest]) => [first, first, ...rest], 'double');
    expect(findings).toMatchObject([{ kind: 'doubled', ids: ['m-double-1'] }]);
  }, 60_000);
});
