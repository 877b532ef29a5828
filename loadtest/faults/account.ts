/**
 * The account of a test of faults: each message and each task that a client sent has one end. It is
 * counted from what clients sent and what the gateway shows afterwards, and it is pure, so that
 * tests can give it data with errors.
 *
 * A message is **lost** when it was accepted, or its run ended, and the transcript lacks it or its
 * answer, or when its run has no end. It is **doubled** when a line occurs twice.
 */
import type { Finding, Sum } from './document.ts';
import type { AccountRow, RunRow, TaskRow } from './rows.ts';
import { runSums, taskSums } from './sums.ts';

/** A message of a person, as its sender knows it. Times are ISO 8601. */
export type SentMessage = {
  readonly session: string;
  /** also its idempotency key */
  readonly runId: string;
  readonly text: string;
  readonly sentAt: string;
  /** how often it was sent, repeats included */
  requests: number;
  acceptedAt?: string;
  answeredAt?: string;
  /** how its run ended */
  status?: 'ok' | 'error';
  error?: string;
  /** code of the last request that failed */
  lastError?: string;
};

/** An envelope of a program, as its sender knows it. */
export type SentTask = {
  /** its idempotency key */
  readonly key: string;
  /** of its payload, and of its result */
  readonly text: string;
  readonly sentAt: string;
  requests: number;
  /** ids of tasks in the responses */
  readonly ids: string[];
  state?: string;
  endedAt?: string;
  lastError?: string;
};

/** A task as the gateway shows it after the test. */
export type ShownTask = { readonly state: string; readonly text?: string };

/** A line of a transcript. */
export type Line = { readonly role: string; readonly runId?: string; readonly text: string };

export type Collected = {
  readonly messages: readonly SentMessage[];
  /** by session */
  readonly transcripts: ReadonlyMap<string, readonly Line[]>;
  readonly tasks: readonly SentTask[];
  /** by id; absent: the gateway does not know it */
  readonly shownTasks: ReadonlyMap<string, ShownTask>;
};

export type Account = {
  readonly rows: readonly AccountRow[];
  readonly sums: readonly Sum[];
  readonly findings: readonly Finding[];
  /** lines of all transcripts */
  readonly lines: number;
};

const LINES_SHOWN_MAX = 10;
const NO_END = 'no end';

export function accountOf(collected: Collected): Account {
  const { messages, transcripts, tasks, shownTasks } = collected;
  const rows: AccountRow[] = [];
  const findings: Finding[] = [];
  for (const message of messages) {
    const lines = (transcripts.get(message.session) ?? []).filter(
      ({ runId }) => runId === message.runId,
    );
    const row = runRowOf(message, lines);
    rows.push(row);
    findings.push(...problemsOfRun(message, row, lines));
  }
  findings.push(...strangers(messages, transcripts));
  for (const task of tasks) {
    const shown = shownTasks.get(task.ids[0] ?? '');
    const row = taskRowOf(task, shown);
    rows.push(row);
    findings.push(...problemsOfTask(task, row, shown));
  }
  const lines = [...transcripts.values()].reduce((total, one) => total + one.length, 0);
  return { rows, sums: [...runSums(runsIn(rows)), ...taskSums(rows)], findings, lines };
}

function runRowOf(message: SentMessage, lines: readonly Line[]): RunRow {
  const { session, runId, sentAt, requests, acceptedAt, answeredAt, status, lastError } = message;
  const count = (role: string) => lines.filter((line) => line.role === role).length;
  return {
    kind: 'run',
    runId,
    session,
    sentAt,
    accepted: acceptedAt !== undefined,
    status: status ?? NO_END,
    user: count('user'),
    assistant: count('assistant'),
    requests,
    ...(acceptedAt !== undefined && { acceptedAt }),
    ...(answeredAt !== undefined && { answeredAt }),
    ...(lastError !== undefined && { lastError }),
  };
}

function problemsOfRun(message: SentMessage, row: RunRow, lines: readonly Line[]): Finding[] {
  const { runId, session, accepted, status, user, assistant } = row;
  const where = `message ${runId} of ${session}`;
  const evidence = [row, ...lines.slice(0, LINES_SHOWN_MAX)];
  const finding = (kind: Finding['kind'], text: string): Finding => ({
    kind,
    text: `${where}: ${text}`,
    ids: [runId],
    evidence,
  });
  const found: Finding[] = [];
  if (user > 1) found.push(finding('doubled', `the transcript has it ${user} times`));
  if (assistant > 1) found.push(finding('doubled', `it has ${assistant} answers`));
  if (!accepted) {
    const why =
      message.lastError === undefined ? '' : `; the last response was ${message.lastError}`;
    found.push(finding('other', `it was never accepted${why}`));
  } else if (status === NO_END)
    found.push(finding('lost', 'it was accepted, and its run has no end'));
  else if (status !== 'ok')
    found.push(finding('other', `its run ended with an error: ${message.error ?? 'unknown'}`));
  if (accepted && user < 1)
    found.push(finding('lost', 'it was accepted, and the transcript lacks it'));
  if (status === 'ok' && assistant < 1)
    found.push(finding('lost', 'its run ended, and the transcript lacks the answer'));
  if (lines.some(({ role, text }) => role === 'user' && text !== message.text))
    found.push(finding('other', 'the transcript has another text under its id'));
  return found;
}

/** Lines of people and agents that belong to no message of this test. */
function strangers(
  messages: readonly SentMessage[],
  transcripts: Collected['transcripts'],
): Finding[] {
  const known = new Map(messages.map(({ runId, session }) => [runId, session]));
  return [...transcripts].flatMap(([session, lines]) =>
    lines
      .filter(({ role, runId }) => isTalk(role) && known.get(runId ?? '') !== session)
      .map((line): Finding => {
        const id = line.runId ?? 'no id';
        const text = `${session} has a line of the run ${id}, which no client sent there`;
        return { kind: 'other', text, ids: [id], evidence: [line] };
      }),
  );
}

const isTalk = (role: string): boolean => role === 'user' || role === 'assistant';

const taskRowOf = (task: SentTask, shown: ShownTask | undefined): TaskRow => {
  const { key, sentAt, requests, ids, lastError } = task;
  return {
    kind: 'task',
    key,
    sentAt,
    requests,
    ids,
    state: shown?.state ?? 'none',
    ...(lastError !== undefined && { lastError }),
  };
};

function problemsOfTask(task: SentTask, row: TaskRow, shown: ShownTask | undefined): Finding[] {
  const { key, ids, state } = row;
  const finding = (kind: Finding['kind'], text: string): Finding => ({
    kind,
    text: `envelope ${key}: ${text}`,
    ids: [key, ...ids],
    evidence: [row, ...(shown ? [shown] : [])],
  });
  const why = task.lastError === undefined ? '' : `; the last response was ${task.lastError}`;
  if (ids.length === 0) return [finding('other', `it was never accepted${why}`)];
  const found: Finding[] = [];
  if (ids.length > 1)
    found.push(finding('doubled', `it has ${ids.length} tasks: ${ids.join(', ')}`));
  if (shown === undefined) found.push(finding('lost', 'it was accepted, and its task is unknown'));
  else if (task.state === undefined) found.push(finding('lost', `its task has no end: ${state}`));
  else if (state !== 'SUCCEEDED') found.push(finding('other', `its task ended with ${state}`));
  else if (shown.text !== task.text) found.push(finding('other', 'its task has another result'));
  return found;
}

const runsIn = (rows: readonly AccountRow[]): RunRow[] => rows.filter((row) => row.kind === 'run');
