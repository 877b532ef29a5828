/** The list of conversations as one value, and the pure functions that change it. */
import type { ForkPoint } from '../protocols/session-fork.ts';
import { shortKey } from './chat/agents-talk.ts';

/** The fields of a row of `sessions.list` that the page uses. */
export type SessionRow = {
  readonly key: string;
  readonly agentId?: string;
  readonly label?: string;
  readonly derivedTitle?: string;
  readonly lastMessagePreview?: string;
  readonly updatedAt?: number | null;
  readonly hasActiveRun?: boolean;
  readonly spawnedBy?: string;
  readonly forkedFrom?: ForkPoint;
};
export type Agent = { readonly id: string; readonly name: string; readonly model: string };
/** A message that a search found. */
export type FoundMessage = {
  readonly sessionKey: string;
  readonly messageId: string;
  readonly timestamp: number;
  readonly snippet: string;
};

export type Sessions = {
  /** newest first */
  readonly rows: readonly SessionRow[];
  readonly hasMore: boolean;
  readonly search: string;
  /** messages with the searched words */
  readonly found: readonly FoundMessage[];
  readonly agents: readonly Agent[];
  readonly defaultAgentId: string;
  /** when each was last read, by the gateway's clock */
  readonly read: Readonly<Record<string, number>>;
  /** messages older than the first view of the list count as read */
  readonly readBefore: number;
};

export const noSessions: Sessions = {
  rows: [],
  hasMore: false,
  search: '',
  found: [],
  agents: [],
  defaultAgentId: 'main',
  read: {},
  readBefore: 0,
};

/** One entry of the list. */
export type SessionItem = {
  readonly key: string;
  readonly title: string;
  readonly preview: string;
  readonly agentId: string;
  readonly updatedAt: number | undefined;
  readonly forkedFrom: ForkPoint | undefined;
  readonly mark: 'asks' | 'running' | 'unread' | undefined;
};

/**
 * The open conversation is always included, also without a message. Subagents' sessions are shown
 * only in a search, or if one of them is open.
 */
export const itemsOf = (
  now: Sessions,
  open: string | undefined,
  asking: ReadonlySet<string>,
): readonly SessionItem[] => {
  const rows = now.rows.filter(
    ({ key, spawnedBy }) => spawnedBy === undefined || now.search !== '' || key === open,
  );
  const missing = open !== undefined && now.search === '' && !rows.some(({ key }) => key === open);
  const shown = missing ? [{ key: open }, ...rows] : rows;
  return shown.map((row) => itemOf(now, row, open, asking));
};

const itemOf = (
  now: Sessions,
  row: SessionRow,
  open: string | undefined,
  asking: ReadonlySet<string>,
): SessionItem => {
  const { key, label, derivedTitle = '', lastMessagePreview = '' } = row;
  const title = label ?? (derivedTitle === '' ? shortKey(key) : derivedTitle);
  return {
    key,
    title,
    preview: lastMessagePreview === title ? '' : lastMessagePreview,
    agentId: row.agentId ?? agentIn(key),
    updatedAt: row.updatedAt ?? undefined,
    forkedFrom: row.forkedFrom,
    mark: asking.has(key)
      ? 'asks'
      : row.hasActiveRun
        ? 'running'
        : key !== open && isUnread(now, row)
          ? 'unread'
          : undefined,
  };
};

const isUnread = ({ read, readBefore }: Sessions, { key, updatedAt }: SessionRow): boolean =>
  (updatedAt ?? 0) > (read[key] ?? readBefore);

/** The list was loaded. `ts` is the gateway's clock. */
export const withRows = (
  now: Sessions,
  answer: {
    readonly ts: number;
    readonly hasMore?: boolean;
    readonly sessions: readonly SessionRow[];
  },
  open: string | undefined,
): Sessions => {
  const next = {
    ...now,
    rows: answer.sessions,
    hasMore: answer.hasMore ?? false,
    readBefore: now.readBefore === 0 ? answer.ts : now.readBefore,
  };
  return open === undefined ? next : withRead(next, open);
};

/** The user is looking at it now. */
export const withRead = (now: Sessions, key: string): Sessions => {
  const at = now.rows.find((row) => row.key === key)?.updatedAt ?? 0;
  if (at <= (now.read[key] ?? now.readBefore)) return now;
  return { ...now, read: { ...now.read, [key]: at } };
};

/** The conversation after (1) or before (-1) the open one, in the shown order. */
export const neighbourOf = (
  items: readonly SessionItem[],
  open: string | undefined,
  step: 1 | -1,
): string | undefined => {
  const at = items.findIndex(({ key }) => key === open);
  return items[at + step]?.key;
};

const agentIn = (key: string): string => /^agent:([^:]+):/.exec(key)?.[1] ?? '';

/** A new conversation; it exists from its first message on. */
export const newSessionKey = (agentId: string, id: string): string => `agent:${agentId}:chat-${id}`;
