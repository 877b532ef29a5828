/**
 * Conversation: what the page shows, as one value, and pure functions that make the next from an event.
 *
 * Three sources are laid side by side and never mixed: `history` is what the gateway has committed,
 * `live` what runs are saying now, `outbox` what this page sent. The run id tells which belong together,
 * so nothing is shown twice: history beats live, and both beat the outbox.
 */
export type ToolStep = {
  readonly callId: string;
  readonly name: string;
  readonly state: 'running' | 'done' | 'failed';
};

export type HistoryItem = {
  readonly id: string;
  readonly runId: string | undefined;
  readonly role: 'user' | 'assistant' | 'tool' | 'end';
  readonly text: string;
  /** of a tool */
  readonly name?: string;
  readonly failed?: boolean;
  /** how a run ended that did not end well */
  readonly end?: Ending;
  /** the model goes on after its tools */
  readonly goesOn?: boolean;
};

export type Ending = { readonly how: 'aborted' | 'error' | 'timeout'; readonly message: string };

export type LiveRun = {
  readonly runId: string;
  readonly text: string;
  readonly tools: readonly ToolStep[];
  readonly done: boolean;
  readonly end?: Ending;
};

export type Sent = {
  readonly runId: string;
  readonly text: string;
  /** `sending` until the gateway has acknowledged it */
  readonly state: 'sending' | 'accepted' | 'failed';
  readonly error?: string;
};

export type Conversation = {
  readonly loaded: boolean;
  readonly history: readonly HistoryItem[];
  readonly hasMore: boolean;
  /** accepted messages of anybody that wait for their turn */
  readonly pending: number;
  readonly live: readonly LiveRun[];
  readonly outbox: readonly Sent[];
};

export const emptyConversation: Conversation = {
  loaded: false,
  history: [],
  hasMore: false,
  pending: 0,
  live: [],
  outbox: [],
};

/** What `chat.history` gives, as far as the page reads it. */
export type History = {
  readonly messages: readonly HistoryMessage[];
  readonly hasMore?: boolean;
  readonly pendingInputs?: { readonly total: number };
  readonly inFlightRun?: { readonly runId: string; readonly text: string };
};
export type HistoryMessage = {
  readonly id?: string;
  readonly runId?: string;
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text?: string }[];
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly stopReason?: string;
  readonly errorMessage?: string;
};

/** The committed state was read: it replaces what the page knew, but for what is newer than it. */
export const withHistory = (now: Conversation, read: History): Conversation => {
  const history = read.messages.map(itemOf);
  const answered = new Set(
    history
      .filter(({ role, goesOn }) => role === 'end' || (role === 'assistant' && !goesOn))
      .map(({ runId }) => runId),
  );
  const said = new Set(history.filter(({ role }) => role === 'user').map(({ runId }) => runId));
  const { inFlightRun } = read;
  const live = now.live.filter(
    ({ runId, done }) => !answered.has(runId) && (done || runId === inFlightRun?.runId),
  );
  const next = {
    ...now,
    loaded: true,
    history,
    hasMore: read.hasMore ?? false,
    pending: read.pendingInputs?.total ?? 0,
    live,
    outbox: now.outbox.filter(({ runId }) => !said.has(runId)),
  };
  if (inFlightRun === undefined || answered.has(inFlightRun.runId)) return next;
  // The gateway joins deltas: what it read for the history is never older than what it had told.
  return withLive(next, inFlightRun.runId, () => ({ text: inFlightRun.text, done: false }));
};

const itemOf = (message: HistoryMessage, at: number): HistoryItem => {
  const { role, content, runId, toolName, isError, stopReason, errorMessage } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const text = parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
  const item = { id: message.id ?? String(at), runId, text };
  if (role === 'user') return { ...item, role };
  if (role === 'toolResult') {
    return { ...item, role: 'tool', name: toolName ?? '', failed: isError ?? false };
  }
  const how = endings[stopReason ?? ''];
  if (how !== undefined) return { ...item, role: 'end', end: { how, message: errorMessage ?? '' } };
  return { ...item, role: 'assistant', goesOn: parts.some(({ type }) => type === 'toolCall') };
};

const endings: Readonly<Record<string, Ending['how'] | undefined>> = {
  aborted: 'aborted',
  error: 'error',
  timeout: 'timeout',
};

/** Payload of the event `chat`, as far as the page reads it. */
export type ChatEvent = {
  readonly runId: string;
  readonly state: string;
  readonly deltaText?: string;
  readonly replace?: boolean;
  readonly message?: { readonly content?: readonly { readonly text?: string }[] };
  readonly errorMessage?: string;
  readonly errorKind?: string;
};

export const withChatEvent = (now: Conversation, event: ChatEvent): Conversation => {
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

/** Payload of the event `agent`, as far as the page reads it. */
export type AgentEvent = {
  readonly runId: string;
  readonly stream: string;
  readonly data: {
    readonly phase?: string;
    readonly sessionKey?: string;
    readonly toolCallId?: string;
    readonly name?: string;
    readonly isError?: boolean;
  };
};

export const withAgentEvent = (
  now: Conversation,
  { runId, stream, data }: AgentEvent,
): Conversation => {
  if (stream === 'lifecycle' && data.phase === 'start') return withLive(now, runId, () => ({}));
  if (stream !== 'tool' || data.toolCallId === undefined) return now;
  const { toolCallId: callId, name = '', phase, isError } = data;
  const state = phase === 'start' ? 'running' : isError ? 'failed' : 'done';
  return withLive(now, runId, ({ tools }) => ({
    tools: [...tools.filter((step) => step.callId !== callId), { callId, name, state }],
  }));
};

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
  return { ...now, outbox };
};

export const withoutSent = (now: Conversation, runId: string): Conversation => ({
  ...now,
  outbox: now.outbox.filter((each) => each.runId !== runId),
});

/** Does the page know who asked for this run? Else somebody else did, and history tells. */
export const knowsRun = ({ history, outbox }: Conversation, runId: string): boolean =>
  outbox.some((sent) => sent.runId === runId) || history.some((item) => item.runId === runId);

/** The run that is being answered now. */
export const activeRun = ({ live }: Conversation): LiveRun | undefined =>
  live.find(({ done }) => !done);

export type Line =
  | { readonly kind: 'history'; readonly key: string; readonly item: HistoryItem }
  | { readonly kind: 'sent'; readonly key: string; readonly sent: Sent; readonly queued: boolean }
  | { readonly kind: 'live'; readonly key: string; readonly run: LiveRun };

/** Everything in the order it is read: each live answer after the message it answers. */
export const linesOf = (now: Conversation): readonly Line[] => {
  const lines: Line[] = now.history.map((item) => ({ kind: 'history', key: `h${item.id}`, item }));
  const liveLine = (run: LiveRun): Line => ({ kind: 'live', key: `l${run.runId}`, run });
  const ofOutbox = new Map(now.outbox.map((sent) => [sent.runId, sent]));
  lines.push(...now.live.filter(({ runId }) => !ofOutbox.has(runId)).map(liveLine));
  for (const sent of now.outbox) {
    const run = now.live.find(({ runId }) => runId === sent.runId);
    const queued = sent.state === 'accepted' && run === undefined;
    lines.push({ kind: 'sent', key: `s${sent.runId}`, sent, queued });
    if (run) lines.push(liveLine(run));
  }
  return lines;
};
