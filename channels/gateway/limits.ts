/**
 * Every bound of the gateway that the wire protocol does not define (I8);
 * protocols/gateway/frames.ts has the others. Times in milliseconds.
 */

/** Connections of one IP that have not completed the handshake. */
export const UNAUTHENTICATED_PER_IP_MAX = 32;
/**
 * Open connections in total; further ones are refused with HTTP 503. Each uses a file descriptor,
 * so the process needs `ulimit -n 16384`.
 */
export const CONNECTIONS_MAX = 12_000;
/** Bytes that a client may send before `hello-ok`: one frame of maximum length with its framing. */
export const HANDSHAKE_BYTES_MAX = 65_536 + 1_024;

/** Wrong secrets within the window that lock an account. */
export const AUTH_FAILURES_MAX = 10;
export const AUTH_WINDOW_MS = 60_000;
export const AUTH_LOCKOUT_MS = 60_000;
/** While an account is locked, one of its attempts is checked per this interval, */
export const AUTH_TURN_MS = 250;
/** and at most this number of attempts wait; the oldest ones beyond it are refused unchecked. */
export const AUTH_WAITING_MAX = 64;
/** Accounts whose failures are stored; the oldest is dropped first. */
export const AUTH_ACCOUNTS_MAX = 10_000;

/** Interval in which the rows of connected devices are read, in case a notice was lost. */
export const GUARD_INTERVAL_MS = 30_000;
/** How long a device that removes its own rights can still receive the answer. */
export const GUARD_SPARES_MS = 5_000;

/** Pending requests of one connection; further ones are refused as UNAVAILABLE. */
export const REQUESTS_OPEN_MAX = 10_000;
/** Unread bytes of a lagging client. It receives the text of deltas later, joined. */
export const LAGGING_BYTES = 1_048_576;
/** Time in which a client must complete the closing handshake before its socket is destroyed. */
export const CLOSE_GRACE_MS = 1_000;

/** How long an entry point waits for the session's acknowledgement of a request. */
export const ACCEPT_TIMEOUT_MS = 30_000;
/** Longest idempotency key; it becomes the run's id. */
export const RUN_ID_CHARACTERS_MAX = 256;

/** Runs whose partial text is kept for subscribers; the oldest is dropped first. */
export const LIVE_RUNS_MAX = 10_000;
/** Text kept and streamed per run; the rest is only in the final message. */
export const LIVE_TEXT_CHARACTERS_MAX = 524_288;
/** Ended runs that are remembered, so that a duplicate end is published once. */
export const ENDED_RUNS_MAX = 20_000;
/** A live run without events for this long is looked up, in case the Bus lost its end. */
export const SILENT_RUN_MS = 2_000;
/** Interval of that look-up, and of the one for runs with waiters. */
export const POLL_MS = 1_000;
/** Look-ups without a row after which a wait for a run ends. */
export const POLLS_MISSING_MAX = 30;

/**
 * Deltas of one run are published at most once per interval. It grows with the text, from the first
 * value to the second.
 */
export const STREAM_INTERVAL_MS = 50;
export const STREAM_INTERVAL_LONG_MS = 150;
/** Number of characters at which the interval is longest. */
export const STREAM_LONG_CHARACTERS = 32_768;

/** Progress of tools is joined like deltas; only the end of each interval's text is kept. */
export const TOOL_UPDATE_CHARACTERS_MAX = 65_536;

/** Answers of commands that are stored, for clients that repeat a key. */
export const COMMANDS_STORED_MAX = 1_000;
/** Runs whose blocks were requested. */
export const BLOCK_RUNS_MAX = 1_000;

/** Interval in which pending approvals are read. */
export const APPROVAL_POLL_MS = 500;
/** Attempts to read an approval that a run has reported. */
export const APPROVAL_READS_MAX = 60;
/** Pending approvals of one node. */
export const NODE_QUESTIONS_MAX = 16;
/** Rows of approvals that one list reads. */
export const APPROVALS_READ_MAX = 10_000;

/**
 * Presence is published at most once per the first interval, or per the second times the number of
 * connections, if that is longer: all connections receive it.
 */
export const PRESENCE_INTERVAL_MS = 100;
export const PRESENCE_INTERVAL_PER_CONNECTION_MS = 2;
/** Number of the newest clients that presence lists; the total is sent too. */
export const PRESENCE_ENTRIES_MAX = 200;
/** Connections that receive the tick in one turn of the event loop. */
export const TICK_BATCH = 32;
/** Connections that receive presence in one turn of the event loop, and the pause between turns. */
export const PRESENCE_BATCH = 32;
export const PRESENCE_BATCH_PAUSE_MS = 3;
/**
 * Each gateway sends heartbeats to the others; after this number of missed ones it counts as gone.
 */
export const PEER_HEARTBEAT_MS = 2_000;
export const PEER_HEARTBEATS_MISSED_MAX = 3;
/** Other gateways of one tenant that are tracked; further ones are ignored. */
export const PEERS_MAX = 100;

/** Events stored for replay: per connection, in total, and their bytes. */
export const REPLAY_FRAMES_MAX = 256;
export const REPLAY_EVENTS_MAX = 4_096;
export const REPLAY_BYTES_MAX = 16_777_216;
/** How long, and how many, ended connections can be resumed. */
export const RESUME_WITHIN_MS = 60_000;
export const RESUMABLE_MAX = 1_000;

/** Default number of messages of `chat.history`. */
export const HISTORY_LIMIT = 200;
/** Default number of characters of one text in `chat.history`; longer ones are truncated. */
export const HISTORY_TEXT_CHARACTERS_MAX = 500_000;
/** Transcript entries per read, from the end. */
export const HISTORY_WINDOW = 400;
/** Sessions whose message counts are cached, so that only new entries are counted. */
export const HISTORY_COUNTS_MAX = 1_000;

/** Files of the web page: number and total bytes. They are kept in memory. */
export const PAGE_FILES_MAX = 200;
export const PAGE_BYTES_MAX = 16_777_216;

/** Subagents of a session that its history contains, and the length of their findings. */
export const SUBAGENTS_READ_MAX = 500;
export const SUBAGENTS_SHOWN_MAX = 50;
export const FINDINGS_SHOWN_CHARACTERS = 2_000;

/**
 * A count of sessions is refreshed in the background from the first age on. From the second age on,
 * requests wait for a new count.
 */
export const COUNT_REFRESH_MS = 500;
export const COUNT_EXPIRES_MS = 1_000;
/** Interval in which readiness and the set of agents are checked. */
export const HEALTH_CHECK_MS = 1_000;

/** Changes of one session within this time are published once. */
export const SESSION_CHANGE_DELAY_MS = 50;
/**
 * Then the session is read again, because rows and transcripts may be visible after their event.
 */
export const SESSION_REREAD_MS: readonly number[] = [200, 1_000];
/** Sessions, and messages of each, that `sessions.search` reads, the newest first. */
export const SEARCH_SESSIONS_MAX = 200;
export const SEARCH_MESSAGES_MAX = 400;
/** Points of `sessions.usage.timeseries`. */
export const USAGE_POINTS_MAX = 200;
/** Sessions of one `sessions.preview`. */
export const PREVIEWS_MAX = 64;
/** Default number of bytes of messages in the answer of `chat.startup`. */
export const STARTUP_BYTES = 262_144;

/** Actors that all clients of one tenant's gateway watch. */
export const ACTORS_WATCHED_IN_ALL_MAX = 1_000;
/** Interval in which the last turn that a lagging client missed is offered to it again. */
export const ACTOR_TURNS_RETRY_MS = 100;

/** Timeout for a device actor to store that its node is connected. */
export const DEVICE_ONLINE_TIMEOUT_MS = 10_000;
/** Delay before that report is repeated. */
export const DEVICE_ONLINE_RETRY_MS = 1_000;
/** Commands without an answer that are recorded per node connection. */
export const NODE_DELIVERED_MAX = 1_000;

/** Interval and number of attempts to read the row of a reported request of a device. */
export const DEVICE_READ_MS = 50;
export const DEVICE_READS_MAX = 100;
