/**
 * SessionWatch: who follows the sessions of a tenant, and what they are told: `sessions.changed` to
 * those that follow all, `session.message` to those that follow the messages of one.
 *
 * Boundary: run events and notices of other doors only say where to look; what is told is read from
 * committed rows and transcripts. Runs themselves are told by RunEvents, to everybody.
 *
 * Invariants:
 *  1. Changes of one session within SESSION_TOLD_MS are told once, as the row is then.
 *  2. A follower is told of every message that is committed after it began to follow, in order and
 *     once; one that reads too slowly is told when it keeps up again.
 *  3. Rows and transcripts may come after the event that tells of them: a session is looked at
 *     again, SESSION_LOOKS_MS after it. What was told already is not told again.
 *  4. At most SESSIONS_FOLLOWED_MAX sessions per connection; nothing is kept of one that is gone.
 */
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  type SessionMessageEvent,
  SESSIONS_FOLLOWED_MAX,
  type SessionsChangedEvent,
} from '../../../protocols/gateway/index.ts';
import { type SessionNotice, sessionNoticesTopic } from '../../../protocols/session-settings.ts';
import type { RunEvent, SessionEntry, SessionRow } from '../../../protocols/session.ts';
import type { Clock, TranscriptEntry } from '../../../runtime/index.ts';
import { type Connection, type EventHead, eventHead } from '../transport/connection.ts';
import type { SessionScope } from '../tenant/tenant-scope.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Logger } from '../log.ts';
import {
  HISTORY_TEXT_CHARACTERS_MAX,
  SESSION_REREAD_MS,
  SESSION_CHANGE_DELAY_MS,
} from '../limits.ts';
import { isMessage } from '../sessions/message-counts.ts';
import { agentOf } from '../sessions/session-key.ts';
import { sessionListRow } from '../sessions/session-list-row.ts';
import { messageOf } from '../sessions/transcript.ts';

/** What is told of a change, but the row. */
type ChangeDetails = Pick<SessionsChangedEvent, 'reason' | 'phase' | 'runId'>;
/** A session that is looked at: `looks` of SESSION_LOOKS_MS are to come. */
type WatchedSession = {
  news: ChangeDetails | undefined;
  looks: number;
  cancel: () => void;
  /** what was told last, and who read too slowly to be told it */
  told: string;
  late: Set<Connection>;
};

export type WatchParts = SessionScope & {
  readonly runs: Pick<LiveRuns, 'row'>;
  readonly log: Logger;
  readonly clock: Clock;
};

export class SessionWatch {
  readonly #parts: WatchParts;
  readonly #all = new Set<Connection>();
  /** transcript position up to which each follower of a session was told */
  readonly #followed = new Map<string, Map<Connection, number>>();
  readonly #looked = new Map<string, WatchedSession>();
  /** sessions whose transcript is being read */
  readonly #reading = new Set<string>();
  readonly #ending = new WeakSet<Connection>();
  readonly #unsubscribe: () => void;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.system.bus.subscribe(
      sessionNoticesTopic(parts.tenant),
      ({ payload }) => {
        const { sessionKey, reason } = payload as SessionNotice;
        this.#look(sessionKey, { reason });
      },
    );
  }

  /** From now on the connection is told of changes of all sessions. May be repeated. */
  watch(connection: Connection): void {
    this.#all.add(connection);
    this.#forgetAtEnd(connection);
  }

  unwatch(connection: Connection): void {
    this.#all.delete(connection);
  }

  /**
   * From now on the connection is told of messages of the session. May be repeated.
   * @throws TroupeError RATE_LIMIT_EXCEEDED when it follows too many
   */
  async follow(connection: Connection, sessionKey: string): Promise<void> {
    if (this.#followed.get(sessionKey)?.has(connection)) return;
    let followed = 0;
    for (const followers of this.#followed.values()) if (followers.has(connection)) followed++;
    if (followed >= SESSIONS_FOLLOWED_MAX) {
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        `this connection follows ${followed} sessions, which is its limit: unsubscribe from some`,
      );
    }
    const followers = this.#followed.get(sessionKey) ?? new Map<Connection, number>();
    this.#followed.set(sessionKey, followers);
    // In its place before the transcript is asked: else two requests of one moment would both be.
    followers.set(connection, NEVER);
    this.#forgetAtEnd(connection);
    const actor = address(this.#parts.tenant, 'session', sessionKey);
    try {
      const last = await this.#parts.system.transcripts.last(actor);
      if (followers.has(connection)) followers.set(connection, last);
    } catch (error) {
      // Else it would be taken for a follower, and never be told anything.
      this.unfollow(connection, sessionKey);
      throw error;
    }
  }

  unfollow(connection: Connection, sessionKey: string): void {
    const followers = this.#followed.get(sessionKey);
    followers?.delete(connection);
    if (followers?.size === 0) this.#followed.delete(sessionKey);
  }

  /** A run event of the tenant. */
  onRunEvent(event: RunEvent): void {
    if (event.stream === 'assistant' || event.stream === 'reasoning') return;
    if (event.stream === 'lifecycle') {
      const { phase, runId } = event;
      this.#look(event.sessionKey, { reason: 'run', phase, runId });
    } else if (this.#followed.has(event.sessionKey)) {
      this.#look(event.sessionKey, undefined);
    }
  }

  /** A door has changed something of a session: all doors of the tenant tell it. */
  publishChange(sessionKey: string, reason: string): void {
    const { system, tenant } = this.#parts;
    system.bus.publish(sessionNoticesTopic(tenant), { sessionKey, reason } satisfies SessionNotice);
  }

  close(): void {
    this.#unsubscribe();
    for (const { cancel } of this.#looked.values()) cancel();
    this.#looked.clear();
    this.#all.clear();
    this.#followed.clear();
  }

  #forgetAtEnd(connection: Connection): void {
    if (this.#ending.has(connection)) return;
    this.#ending.add(connection);
    connection.lease(() => {
      this.#all.delete(connection);
      for (const key of this.#followed.keys()) this.unfollow(connection, key);
    });
  }

  #look(sessionKey: string, news: ChangeDetails | undefined): void {
    if (this.#all.size === 0 && !this.#followed.has(sessionKey)) return;
    const looked = this.#looked.get(sessionKey);
    looked?.cancel();
    const { told = '', late = new Set<Connection>() } = looked ?? {};
    const next = { news: news ?? looked?.news, looks: 0, cancel: () => {}, told, late };
    this.#looked.set(sessionKey, next);
    this.#arm(sessionKey, next, SESSION_CHANGE_DELAY_MS);
  }

  #arm(sessionKey: string, looked: WatchedSession, ms: number): void {
    looked.cancel = this.#parts.clock.after(ms, () => {
      this.#tellChange(sessionKey, looked);
      void this.#tellMessages(sessionKey);
      const again = SESSION_REREAD_MS[looked.looks++] ?? (looked.late.size > 0 ? LATE_LOOK_MS : 0);
      if (again === 0) this.#looked.delete(sessionKey);
      else this.#arm(sessionKey, looked, again);
    });
  }

  /** What was told last is not told again. */
  #tellChange(sessionKey: string, looked: WatchedSession): void {
    const { news } = looked;
    if (news === undefined || this.#all.size === 0) return;
    const { system, tenant, clock } = this.#parts;
    const row = system.index.get<SessionRow>('sessions', tenant, sessionKey);
    const session = row && sessionListRow(this.#parts, row);
    const agentId = row?.agentId ?? agentOf(sessionKey);
    if (agentId === undefined) return;
    const text = JSON.stringify([news, session]);
    const audience = text === looked.told ? [...looked.late] : this.#all;
    looked.told = text;
    const head = eventHead('sessions.changed', {
      sessionKey,
      agentId,
      ...news,
      ts: clock.wallMs(),
      ...(session === undefined ? {} : { session }),
    } satisfies SessionsChangedEvent);
    for (const connection of audience) {
      looked.late.delete(connection);
      if (!this.#all.has(connection)) continue;
      if (connection.lagging) looked.late.add(connection);
      else connection.event(head);
    }
  }

  async #tellMessages(sessionKey: string): Promise<void> {
    const followers = this.#followed.get(sessionKey);
    if (followers === undefined || this.#reading.has(sessionKey)) return;
    const { system, tenant, log } = this.#parts;
    const actor = address(tenant, 'session', sessionKey);
    const late = new Set<Connection>();
    this.#reading.add(sessionKey);
    try {
      for (;;) {
        const from = Math.min(...[...followers].map(([who, to]) => (late.has(who) ? NEVER : to)));
        if (from === NEVER) break;
        const entries = await system.transcripts.read(actor, { from: from + 1 });
        if (entries.length === 0) break;
        for (const entry of entries) this.#tellMessage(sessionKey, entry, followers, late);
      }
    } catch (error) {
      log.warn({ err: error, sessionKey }, 'gateway: a transcript could not be read');
    } finally {
      this.#reading.delete(sessionKey);
    }
    const looked = this.#looked.get(sessionKey);
    for (const connection of late) looked?.late.add(connection);
  }

  /** One that reads too slowly is `late` from here on: it misses nothing, and is told later. */
  #tellMessage(
    sessionKey: string,
    entry: TranscriptEntry,
    followers: Map<Connection, number>,
    late: Set<Connection>,
  ): void {
    const { position } = entry;
    const head = this.#messageHead(sessionKey, entry);
    for (const [connection, told] of followers) {
      if (told >= position || late.has(connection)) continue;
      if (connection.lagging) {
        late.add(connection);
        continue;
      }
      if (head !== undefined) connection.event(head);
      followers.set(connection, position);
    }
  }

  /** undefined: people are not shown it. */
  #messageHead(sessionKey: string, entry: TranscriptEntry): EventHead | undefined {
    const message = isMessage(entry.entry as SessionEntry)
      ? messageOf(entry, HISTORY_TEXT_CHARACTERS_MAX)
      : undefined;
    if (message === undefined) return undefined;
    const { system, tenant } = this.#parts;
    const row = system.index.get<SessionRow>('sessions', tenant, sessionKey);
    return eventHead('session.message', {
      sessionKey,
      agentId: row?.agentId ?? agentOf(sessionKey) ?? '',
      ...(row?.sessionId ? { sessionId: row.sessionId } : {}),
      message,
      messageId: String(entry.position),
      messageSeq: entry.position,
    } satisfies SessionMessageEvent);
  }
}

/** Of a follower whose place in the transcript is being asked. */
const NEVER = Number.POSITIVE_INFINITY;
/** While somebody reads too slowly to be told. */
const LATE_LOOK_MS = 1_000;
