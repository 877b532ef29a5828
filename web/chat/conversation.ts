/**
 * Conversation: everything that the page shows of one conversation as one value, and pure functions
 * that return the next value after an event.
 *
 * It has three separate parts: `history` is what the gateway has committed, `live` is the output of
 * active runs, and `outbox` is what this page sent. They are matched by run id, so that nothing is
 * shown twice: history replaces live output, and both replace the outbox.
 */
import type { FilePart } from '../../protocols/content.ts';
import type { ForkPoint } from '../../protocols/session-fork.ts';
import type { Origin, Subagent } from './agents-talk.ts';
import { withoutFileNames } from './file-names.ts';
import { type AgentEvent, type Call, callsOf, stepAfter, type ToolStep } from './tool-steps.ts';

export type HistoryItem = {
  readonly id: string;
  readonly runId: string | undefined;
  readonly role: 'user' | 'assistant' | 'tool' | 'end' | 'marker';
  readonly text: string;
  /** of a tool call */
  readonly callId?: string;
  readonly name?: string;
  readonly failed?: boolean;
  /** epoch milliseconds */
  readonly at?: number;
  readonly about?: string;
  readonly args?: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly images?: number;
  /** that the agent sent with the text */
  readonly files?: readonly FilePart[];
  /** of a message that no user wrote */
  readonly origin?: Origin;
  /** the status of a run that did not end `ok` */
  readonly end?: Ending;
  /** the model continues after its tool calls */
  readonly goesOn?: boolean;
  /** the turn after which it was there, of this session or of the one that it was copied from */
  readonly point?: ForkPoint | undefined;
};

export type Ending = { readonly how: 'aborted' | 'error' | 'timeout'; readonly message: string };

export type LiveRun = {
  readonly runId: string;
  readonly text: string;
  readonly tools: readonly ToolStep[];
  readonly done: boolean;
  readonly end?: Ending;
  /**
   * text that was streamed before the run was interrupted; the history contains its end, but not
   * this
   */
  readonly torso?: boolean;
};

export type Sent = {
  readonly runId: string;
  readonly text: string;
  /** `sending` until the gateway has acknowledged it */
  readonly state: 'sending' | 'accepted' | 'failed';
  readonly error?: string;
  readonly images?: readonly SentImage[];
  /** a command of the session; its answer is not part of the history */
  readonly command?: boolean;
};
export type SentImage = {
  readonly fileName: string;
  readonly mimeType: string;
  readonly content: string;
};

/** A command and its answer, shown only by the page that sent it, until the page is reloaded. */
export type Aside = {
  readonly runId: string;
  readonly text: string;
  readonly answer: string;
  readonly failed: boolean;
  /** id of the history item it follows; undefined: there was none */
  readonly after: string | undefined;
};

/** A command of a tool that waits for an approval. */
export type Approval = {
  readonly id: string;
  readonly request: {
    readonly command: string;
    readonly detail?: string;
    readonly sessionKey: string | null;
    readonly allowedDecisions?: readonly string[];
    /** the agent, and where it would run */
    readonly agentId?: string | null;
    readonly host?: string | null;
    readonly nodeId?: string | null;
    readonly cwd?: string | null;
  };
  readonly expiresAtMs?: number;
};

export type Conversation = {
  readonly loaded: boolean;
  readonly history: readonly HistoryItem[];
  readonly hasMore: boolean;
  /** accepted messages of all users that wait in the queue */
  readonly pending: number;
  readonly live: readonly LiveRun[];
  readonly outbox: readonly Sent[];
  readonly asides: readonly Aside[];
  /** oldest first */
  readonly approvals: readonly Approval[];
  /** newest first */
  readonly subagents: readonly Subagent[];
  /** for a subagent's session: the session that started it */
  readonly parent?: string;
  readonly forkedFrom?: ForkPoint | undefined;
};

export const emptyConversation: Conversation = {
  loaded: false,
  history: [],
  hasMore: false,
  pending: 0,
  live: [],
  outbox: [],
  asides: [],
  approvals: [],
  subagents: [],
};

/** The fields of `chat.history` that the page uses. */
export type History = {
  readonly sessionKey?: string;
  readonly messages: readonly HistoryMessage[];
  readonly hasMore?: boolean;
  readonly pendingInputs?: { readonly total: number };
  readonly inFlightRun?: { readonly runId: string; readonly text: string };
  readonly subagents?: readonly Subagent[];
  readonly sessionInfo?: Pick<Conversation, 'forkedFrom'> & { readonly spawnedBy?: string };
};
type Part = {
  readonly type: string;
  readonly text?: string;
  /** of a tool call */
  readonly id?: string;
  readonly arguments?: unknown;
};
export type HistoryMessage = {
  readonly id?: string;
  readonly timestamp?: number;
  readonly runId?: string;
  readonly role: string;
  readonly content: string | readonly Part[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly stopReason?: string;
  readonly errorMessage?: string;
  readonly origin?: Origin;
  readonly files?: readonly FilePart[];
  readonly turn?: number;
  readonly copied?: ForkPoint;
};

/** The committed state was read: it replaces everything in the page that is not newer. */
export const withHistory = (now: Conversation, read: History): Conversation => {
  const calls = new Map(read.messages.flatMap(callsOf));
  const history = read.messages.map((message, at) => itemOf(message, at, calls, read.sessionKey));
  const ofRole = (role: HistoryItem['role']) => history.filter((item) => item.role === role);
  const runs = (items: readonly HistoryItem[]) => new Set(items.map(({ runId }) => runId));
  const answered = runs(ofRole('assistant').filter(({ goesOn }) => !goesOn));
  const cutOff = runs(ofRole('end'));
  const said = runs(ofRole('user'));
  const { inFlightRun } = read;
  const live = now.live.flatMap((run): readonly LiveRun[] => {
    if (answered.has(run.runId)) return [];
    if (cutOff.has(run.runId)) return torsoOf(run);
    return run.done || run.runId === inFlightRun?.runId ? [withoutCommitted(run, history)] : [];
  });
  const next = {
    ...now,
    loaded: true,
    history,
    hasMore: read.hasMore ?? false,
    pending: read.pendingInputs?.total ?? 0,
    live,
    outbox: now.outbox.filter(({ runId }) => !said.has(runId)),
    subagents: read.subagents ?? [],
    ...(read.sessionInfo?.spawnedBy ? { parent: read.sessionInfo.spawnedBy } : {}),
    forkedFrom: read.sessionInfo?.forkedFrom,
  };
  if (inFlightRun === undefined || answered.has(inFlightRun.runId)) return next;
  // It ended while the history was being read.
  if (live.some(({ runId, done }) => done && runId === inFlightRun.runId)) return next;
  // The gateway joins deltas, so the text in the history is never older than what it had sent
  // before.
  const { runId, text } = inFlightRun;
  return withLive(next, runId, (run) => withoutCommitted({ ...run, text, done: false }, history));
};

const torsoOf = ({ end: _, ...run }: LiveRun): readonly LiveRun[] =>
  run.text === '' ? [] : [{ ...run, tools: [], done: true, torso: true }];

/** Committed steps are in the history, and so is the text before them. */
const withoutCommitted = (run: LiveRun, history: readonly HistoryItem[]): LiveRun => {
  const own = history.filter(({ runId }) => runId === run.runId);
  const calls = new Set(own.map(({ callId }) => callId));
  const before = own.findLast(({ goesOn }) => goesOn);
  return {
    ...run,
    tools: run.tools.filter(({ callId }) => !calls.has(callId)),
    text: before !== undefined && before.text === run.text ? '' : run.text,
  };
};

const itemOf = (
  message: HistoryMessage,
  at: number,
  calls: ReadonlyMap<string, Call>,
  sessionKey = '',
): HistoryItem => {
  const { role, content, runId, toolCallId, toolName, isError, turn, copied } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const text = parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
  const item = {
    id: message.id ?? String(at),
    runId,
    text,
    ...(message.timestamp === undefined ? {} : { at: message.timestamp }),
    point: copied ?? (turn === undefined ? undefined : { key: sessionKey, turn }),
  };
  const images = parts.filter(({ type }) => type === 'image').length;
  const { origin } = message;
  if (role === 'user')
    return { ...item, role, ...(images > 0 ? { images } : {}), ...(origin ? { origin } : {}) };
  if (role === 'system') return { ...item, role: 'marker' };
  if (role === 'toolResult') {
    const call = calls.get(toolCallId ?? '');
    const { timestamp: endedAt } = message;
    const tool = { name: toolName ?? '', failed: isError ?? false, ...call };
    const result = {
      ...(toolCallId ? { callId: toolCallId } : {}),
      ...(endedAt ? { endedAt } : {}),
    };
    return { ...item, ...tool, role: 'tool', ...result };
  }
  const how = endings[message.stopReason ?? ''];
  if (how !== undefined)
    return { ...item, role: 'end', end: { how, message: message.errorMessage ?? '' } };
  const { files } = message;
  const sent = files && { files, text: withoutFileNames(text, files) };
  return {
    ...item,
    ...sent,
    role: 'assistant',
    goesOn: parts.some(({ type }) => type === 'toolCall'),
  };
};

const endings: Readonly<Record<string, Ending['how'] | undefined>> = {
  aborted: 'aborted',
  error: 'error',
  timeout: 'timeout',
};

/** The fields of the event `chat` that the page uses. */
export type ChatEvent = {
  readonly runId: string;
  readonly state: string;
  readonly deltaText?: string;
  readonly replace?: boolean;
  readonly message?: { readonly content?: readonly { readonly text?: string }[] };
  readonly errorMessage?: string;
  readonly errorKind?: string;
  readonly stopReason?: string;
};

export const withChatEvent = (now: Conversation, event: ChatEvent): Conversation =>
  settled(committed(withChat(now, event), event.runId), event.runId);

/** The history may contain the end of a run before its event arrives; it is not shown again. */
const committed = (now: Conversation, runId: string): Conversation => {
  const run = now.live.find((each) => each.runId === runId);
  if (!run?.done) return now;
  const isEnd = ({ role, goesOn, text }: HistoryItem) =>
    run.end ? role === 'end' : role === 'assistant' && !goesOn && text === run.text;
  if (!now.history.some((item) => item.runId === runId && isEnd(item))) return now;
  const after = run.end ? torsoOf(run) : [];
  return { ...now, live: now.live.flatMap((each) => (each === run ? after : [each])) };
};

const withChat = (now: Conversation, event: ChatEvent): Conversation => {
  // The message was answered by another run; the history contains it.
  if (event.stopReason === 'joined') return withoutLive(now, event.runId);
  const whole = event.message?.content?.[0]?.text;
  switch (event.state) {
    case 'delta':
      return withLive(now, event.runId, ({ text }) => ({
        text: whole ?? (event.replace ? '' : text) + (event.deltaText ?? ''),
      }));
    case 'final':
      return withLive(now, event.runId, ({ text }) => ({ text: whole ?? text, done: true }));
    case 'aborted':
    case 'error': {
      const how =
        event.state === 'error' && event.errorKind === 'timeout' ? 'timeout' : event.state;
      const end: Ending = { how, message: event.errorMessage ?? '' };
      return withLive(now, event.runId, ({ text }) => ({ text: whole ?? text, done: true, end }));
    }
    default:
      return now;
  }
};

export const withAgentEvent = (now: Conversation, event: AgentEvent): Conversation => {
  const { runId, stream, data } = event;
  if (stream === 'lifecycle' && data.phase === 'start') return withLive(now, runId, () => ({}));
  const { toolCallId: callId } = data;
  if (stream !== 'tool' || callId === undefined) return now;
  const isCommitted = now.history.some((item) => item.runId === runId && item.callId === callId);
  return withLive(now, runId, ({ tools }) => {
    const known = tools.find((step) => step.callId === callId);
    // The history was faster than the event.
    if (!known && isCommitted && data.phase !== 'start') return { tools };
    const step = stepAfter(known ?? { callId, name: data.name ?? '', state: 'running' }, event);
    return {
      tools: known ? tools.map((each) => (each === known ? step : each)) : [...tools, step],
    };
  });
};

const withoutLive = (now: Conversation, runId: string): Conversation => ({
  ...now,
  live: now.live.filter((run) => run.runId !== runId),
});

/** An answered command leaves the outbox; its answer is shown separately. */
const settled = (now: Conversation, runId: string): Conversation => {
  const sent = now.outbox.find((each) => each.runId === runId);
  const run = now.live.find((each) => each.runId === runId);
  if (sent?.command !== true || run?.done !== true) return now;
  const aside: Aside = {
    runId,
    text: sent.text,
    answer: run.end?.message ?? run.text,
    failed: run.end !== undefined,
    after: now.history.at(-1)?.id,
  };
  return { ...withoutLive(withoutSent(now, runId), runId), asides: [...now.asides, aside] };
};

export const withApproval = (now: readonly Approval[], approval: Approval): readonly Approval[] => [
  ...withoutApproval(now, approval.id),
  approval,
];

export const withoutApproval = (now: readonly Approval[], id: string): readonly Approval[] =>
  now.filter((each) => each.id !== id);

const withLive = (
  now: Conversation,
  runId: string,
  change: (run: LiveRun) => Partial<LiveRun>,
): Conversation => {
  const known = now.live.find((run) => run.runId === runId);
  const before = known ?? { runId, text: '', tools: [], done: false };
  const after = { ...before, ...change(before) };
  const live = known ? now.live.map((run) => (run === known ? after : run)) : [...now.live, after];
  return { ...now, live };
};

export const withSent = (now: Conversation, sent: Sent): Conversation => {
  const known = now.outbox.some(({ runId }) => runId === sent.runId);
  const outbox = known
    ? now.outbox.map((each) => (each.runId === sent.runId ? sent : each))
    : [...now.outbox, sent];
  return settled({ ...now, outbox }, sent.runId);
};

export const withoutSent = (now: Conversation, runId: string): Conversation => ({
  ...now,
  outbox: now.outbox.filter((each) => each.runId !== runId),
});

/**
 * Whether the page has the message of this run. If not, another client sent it, and the history
 * contains it.
 */
export const knowsRun = ({ history, outbox }: Conversation, runId: string): boolean =>
  outbox.some((sent) => sent.runId === runId) || history.some((item) => item.runId === runId);

/** The run that is active now. */
export const activeRun = ({ live }: Conversation): LiveRun | undefined =>
  live.find(({ done }) => !done);
