/**
 * Publishes changes of a tenant's sessions: `sessions.changed` to connections that follow all
 * sessions, `session.message` to those that follow the messages of one.
 *
 * Boundary: run events and notices of other entry points only indicate which session to read.
 * Events are built from committed rows and transcripts. RunEvents publishes the runs themselves.
 *
 * Invariants:
 *  1. Changes of one session within SESSION_CHANGE_DELAY_MS are published once, with the current
 *     row.
 *  2. A follower receives every message that is committed after its subscription, in order and
 *     once. A lagging follower receives them when it catches up.
 *  3. Rows and transcripts may be visible after their event, so the session is read again after
 *     each delay of SESSION_REREAD_MS. Nothing is published twice.
 *  4. At most SESSIONS_FOLLOWED_MAX sessions per connection; no state is kept of ended connections.
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
import { agentOf } from '../../../operations/sessions/session-key.ts';
import { sessionListRow } from '../../../operations/sessions/session-list-row.ts';
import { messageOf } from '../sessions/transcript.ts';

/** The fields of a change event that do not come from the row. */
type ChangeDetails = Pick<SessionsChangedEvent, 'reason' | 'phase' | 'runId'>;
/** A session with pending reads; `reads` counts those that are done. */
type WatchedSession = {
  change: ChangeDetails | undefined;
  reads: number;
  cancel: () => void;
  /** the last published change, and the lagging connections that have not received it */
  sent: string;
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
  /** per session and follower, the transcript position up to which messages were sent */
  readonly #followed = new Map<string, Map<Connection, number>>();
  readonly #watched = new Map<string, WatchedSession>();
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
        this.#scheduleRead(sessionKey, { reason });
      },
    );
  }

  /** Sends changes of all sessions to the connection from now on. May be repeated. */
  watch(connection: Connection): void {
    this.#all.add(connection);
    this.#removeAtEnd(connection);
  }

  unwatch(connection: Connection): void {
    this.#all.delete(connection);
  }

  /**
   * Sends messages of the session to the connection from now on. May be repeated.
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
    // Stored before the transcript is read; otherwise two concurrent requests would both subscribe.
    followers.set(connection, UNKNOWN_POSITION);
    this.#removeAtEnd(connection);
    const actor = address(this.#parts.tenant, 'session', sessionKey);
    try {
      const last = await this.#parts.system.transcripts.last(actor);
      if (followers.has(connection)) followers.set(connection, last);
    } catch (error) {
      // Otherwise the connection would stay subscribed and never receive a message.
      this.unfollow(connection, sessionKey);
      throw error;
    }
  }

  unfollow(connection: Connection, sessionKey: string): void {
    const followers = this.#followed.get(sessionKey);
    followers?.delete(connection);
    if (followers?.size === 0) this.#followed.delete(sessionKey);
  }

  /** Processes a run event of the tenant. */
  onRunEvent(event: RunEvent): void {
    if (event.stream === 'assistant' || event.stream === 'reasoning') return;
    if (event.stream === 'lifecycle') {
      const { phase, runId } = event;
      this.#scheduleRead(event.sessionKey, { reason: 'run', phase, runId });
    } else if (this.#followed.has(event.sessionKey)) {
      this.#scheduleRead(event.sessionKey, undefined);
    }
  }

  /** An entry point changed the session: all gateways of the tenant publish the change. */
  publishChange(sessionKey: string, reason: string): void {
    const { system, tenant } = this.#parts;
    system.bus.publish(sessionNoticesTopic(tenant), { sessionKey, reason } satisfies SessionNotice);
  }

  close(): void {
    this.#unsubscribe();
    for (const { cancel } of this.#watched.values()) cancel();
    this.#watched.clear();
    this.#all.clear();
    this.#followed.clear();
  }

  #removeAtEnd(connection: Connection): void {
    if (this.#ending.has(connection)) return;
    this.#ending.add(connection);
    connection.lease(() => {
      this.#all.delete(connection);
      for (const key of this.#followed.keys()) this.unfollow(connection, key);
    });
  }

  #scheduleRead(sessionKey: string, change: ChangeDetails | undefined): void {
    if (this.#all.size === 0 && !this.#followed.has(sessionKey)) return;
    const watched = this.#watched.get(sessionKey);
    watched?.cancel();
    const { sent = '', late = new Set<Connection>() } = watched ?? {};
    const next = { change: change ?? watched?.change, reads: 0, cancel: () => {}, sent, late };
    this.#watched.set(sessionKey, next);
    this.#arm(sessionKey, next, SESSION_CHANGE_DELAY_MS);
  }

  #arm(sessionKey: string, watched: WatchedSession, ms: number): void {
    watched.cancel = this.#parts.clock.after(ms, () => {
      this.#sendChange(sessionKey, watched);
      void this.#sendMessages(sessionKey);
      const again =
        SESSION_REREAD_MS[watched.reads++] ?? (watched.late.size > 0 ? LATE_READ_MS : 0);
      if (again === 0) this.#watched.delete(sessionKey);
      else this.#arm(sessionKey, watched, again);
    });
  }

  /** Publishes the change unless it equals the last published one. */
  #sendChange(sessionKey: string, watched: WatchedSession): void {
    const { change } = watched;
    if (change === undefined || this.#all.size === 0) return;
    const { system, tenant, clock } = this.#parts;
    const row = system.index.get<SessionRow>('sessions', tenant, sessionKey);
    const session = row && sessionListRow(this.#parts, row);
    const agentId = row?.agentId ?? agentOf(sessionKey);
    if (agentId === undefined) return;
    const text = JSON.stringify([change, session]);
    const audience = text === watched.sent ? [...watched.late] : this.#all;
    watched.sent = text;
    const head = eventHead('sessions.changed', {
      sessionKey,
      agentId,
      ...change,
      ts: clock.wallMs(),
      ...(session === undefined ? {} : { session }),
    } satisfies SessionsChangedEvent);
    for (const connection of audience) {
      watched.late.delete(connection);
      if (!this.#all.has(connection)) continue;
      if (connection.lagging) watched.late.add(connection);
      else connection.event(head);
    }
  }

  async #sendMessages(sessionKey: string): Promise<void> {
    const followers = this.#followed.get(sessionKey);
    if (followers === undefined || this.#reading.has(sessionKey)) return;
    const { system, tenant, log } = this.#parts;
    const actor = address(tenant, 'session', sessionKey);
    const late = new Set<Connection>();
    this.#reading.add(sessionKey);
    try {
      for (;;) {
        const from = Math.min(
          ...[...followers].map(([who, to]) => (late.has(who) ? UNKNOWN_POSITION : to)),
        );
        if (from === UNKNOWN_POSITION) break;
        const entries = await system.transcripts.read(actor, { from: from + 1 });
        if (entries.length === 0) break;
        for (const entry of entries) this.#sendMessage(sessionKey, entry, followers, late);
      }
    } catch (error) {
      log.warn({ err: error, sessionKey }, 'gateway: a transcript could not be read');
    } finally {
      this.#reading.delete(sessionKey);
    }
    const watched = this.#watched.get(sessionKey);
    for (const connection of late) watched?.late.add(connection);
  }

  /** A lagging follower becomes `late`: it receives this and later messages when it catches up. */
  #sendMessage(
    sessionKey: string,
    entry: TranscriptEntry,
    followers: Map<Connection, number>,
    late: Set<Connection>,
  ): void {
    const { position } = entry;
    const head = this.#messageHead(sessionKey, entry);
    for (const [connection, sent] of followers) {
      if (sent >= position || late.has(connection)) continue;
      if (connection.lagging) {
        late.add(connection);
        continue;
      }
      if (head !== undefined) connection.event(head);
      followers.set(connection, position);
    }
  }

  /** Undefined if clients do not display the entry. */
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

/** The position of a follower whose start position is being read. */
const UNKNOWN_POSITION = Number.POSITIVE_INFINITY;
/** Interval of reads while a follower lags. */
const LATE_READ_MS = 1_000;
