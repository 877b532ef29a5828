/**
 * Every bound of the gateway that the wire protocol does not define (I8);
 * protocols/gateway/frames.ts has the others. Times in milliseconds.
 */

/** Connections of one IP that have not said a good hello yet. */
export const UNAUTHENTICATED_PER_IP_MAX = 32;
/**
 * Open connections in all; one more is refused with HTTP 503. Each is a file descriptor: for so
 * many the process needs `ulimit -n 16384`.
 */
export const CONNECTIONS_MAX = 12_000;
/**
 * Bytes a client may send before `hello-ok`: one frame of the longest length, and what frames it.
 */
export const HANDSHAKE_BYTES_MAX = 65_536 + 1_024;

/** So many wrong secrets of one account within the window lock that account. */
export const AUTH_FAILURES_MAX = 10;
export const AUTH_WINDOW_MS = 60_000;
export const AUTH_LOCKOUT_MS = 60_000;
/** While an account is locked, one of its attempts is checked per this interval, */
export const AUTH_TURN_MS = 250;
/** and this number waits for that; the oldest of more are refused unchecked. */
export const AUTH_WAITING_MAX = 64;
/** Accounts whose failures are remembered; the oldest is forgotten first. */
export const AUTH_ACCOUNTS_MAX = 10_000;

/** Interval in which the rows of connected devices are read again, for a word that was lost. */
export const GUARD_INTERVAL_MS = 30_000;
/** How long a device that removes its own rights can still receive the answer. */
export const GUARD_SPARES_MS = 5_000;

/** Requests of one connection that wait for their answer; one more is refused as UNAVAILABLE. */
export const REQUESTS_OPEN_MAX = 10_000;
/**
 * Above this a client's answers are read too slowly to stream deltas to it: it gets them joined,
 * later.
 */
export const LAGGING_BYTES = 1_048_576;
/** How long a dismissed client may take to close before its socket is destroyed. */
export const CLOSE_GRACE_MS = 1_000;

/** How long an entry point waits for the session's acknowledgement of a request. */
export const ACCEPT_TIMEOUT_MS = 30_000;
/** Longest idempotency key; it becomes the run's id. */
export const RUN_ID_CHARACTERS_MAX = 256;

/** Runs whose partial text is kept for subscribers; the oldest is dropped first. */
export const LIVE_RUNS_MAX = 10_000;
/** Text kept and streamed per run; the rest is only in the final message. */
export const LIVE_TEXT_CHARACTERS_MAX = 524_288;
/** Ended runs that are remembered, so that a repeated end is published once. */
export const ENDED_RUNS_MAX = 20_000;
/** A live run that was silent for this long is looked up, in case its end was lost on the Bus. */
export const SILENT_RUN_MS = 2_000;
/** Interval of that look-up, and of the one for runs that somebody waits for. */
export const POLL_MS = 1_000;
/** Look-ups without a row after which a run that somebody waits for is given up as gone. */
export const POLLS_MISSING_MAX = 30;

/**
 * Deltas of one run are published at most once per interval, which grows with the text from the
 * first to the second.
 */
export const STREAM_INTERVAL_MS = 50;
export const STREAM_INTERVAL_LONG_MS = 150;
/** Characters at which the interval has reached its longest. */
export const STREAM_LONG_CHARACTERS = 32_768;

/** What a tool says of its progress is joined as deltas are; of one interval the end is kept. */
export const TOOL_UPDATE_CHARACTERS_MAX = 65_536;

/** Answers of commands remembered, for clients that ask again under the same key. */
export const COMMANDS_STORED_MAX = 1_000;
/** Runs whose blocks a client requested. */
export const BLOCK_RUNS_MAX = 1_000;
/** How long `sessions.compact` waits: a model is called. */
export const COMPACT_TIMEOUT_MS = 300_000;

/** Interval in which questions that wait are looked at, while one does. */
export const APPROVAL_POLL_MS = 500;
/** Attempts to find a question that a run has reported. */
export const APPROVAL_READS_MAX = 60;
/** Questions of one node that wait for approval. */
export const NODE_QUESTIONS_MAX = 16;
/** Rows of approvals that are read for a list. */
export const APPROVALS_READ_MAX = 10_000;

/**
 * Presence is published at most once per the first interval, or per the second times the number of
 * connections if that is longer, because all of them receive it.
 */
export const PRESENCE_INTERVAL_MS = 100;
export const PRESENCE_INTERVAL_PER_CONNECTION_MS = 2;
/** Clients that presence names, the newest; the total number is sent as well. */
export const PRESENCE_ENTRIES_MAX = 200;
/** Connections that receive the tick in one turn of the event loop. */
export const TICK_BATCH = 32;
/** Connections that receive an event in one turn of the event loop, and the pause between two. */
export const PRESENCE_BATCH = 32;
export const PRESENCE_BATCH_PAUSE_MS = 3;
/**
 * A gateway announces itself to the others once per heartbeat; after this number of missed ones it
 * is gone.
 */
export const PEER_HEARTBEAT_MS = 2_000;
export const PEER_HEARTBEATS_MISSED_MAX = 3;
/** Gateways of one tenant that are known; more are not listened to. */
export const PEERS_MAX = 100;

/** Events that can be sent again: of each connection, of all together, and their bytes. */
export const REPLAY_FRAMES_MAX = 256;
export const REPLAY_EVENTS_MAX = 4_096;
export const REPLAY_BYTES_MAX = 16_777_216;
/** How long, and how many, ended connections are remembered. */
export const RESUME_WITHIN_MS = 60_000;
export const RESUMABLE_MAX = 1_000;

/** Default number of messages of `chat.history`. */
export const HISTORY_LIMIT = 200;
/** Default number of characters of one text in `chat.history`; the rest is cut. */
export const HISTORY_TEXT_CHARACTERS_MAX = 500_000;
/** Transcript entries read at once, from the end. */
export const HISTORY_WINDOW = 400;
/** Sessions whose messages are counted from where they were counted last. */
export const HISTORY_COUNTS_MAX = 1_000;
/** Sessions read for lists and counts; beyond it the list says so by `hasMore`. */
export const SESSIONS_READ_MAX = 10_000;

/** Files of the page: number and bytes in all. They are kept in memory. */
export const PAGE_FILES_MAX = 200;
export const PAGE_BYTES_MAX = 16_777_216;

/** Subagents of a session that are read and shown with its history, and how much they found. */
export const SUBAGENTS_READ_MAX = 500;
export const SUBAGENTS_SHOWN_MAX = 50;
export const FINDINGS_SHOWN_CHARACTERS = 2_000;

/** A count of sessions is made again in the background from the first age on, and waited for from
 * the second. */
export const COUNT_REFRESH_MS = 500;
export const COUNT_EXPIRES_MS = 1_000;
/** Between two looks whether the system has become ready, or its agents others. */
export const HEALTH_CHECK_MS = 1_000;

/** Changes of one session within it are published once. */
export const SESSION_CHANGE_DELAY_MS = 50;
/** Then it is read again: rows and transcripts may be visible after their event. */
export const SESSION_REREAD_MS: readonly number[] = [200, 1_000];
/** Sessions and messages of each that `sessions.search` looks at, the newest first. */
export const SEARCH_SESSIONS_MAX = 200;
export const SEARCH_MESSAGES_MAX = 400;
/** Points of `sessions.usage.timeseries`. */
export const USAGE_POINTS_MAX = 200;
/** Sessions of one `sessions.preview`. */
export const PREVIEWS_MAX = 64;
/** Default number of bytes of messages in the answer of `chat.startup`. */
export const STARTUP_BYTES = 262_144;

/** Subagents, and tasks of other agents, that are read for `tasks.list`. */
export const TASKS_READ_MAX = 10_000;

/** How long a device actor may take to store that its node is connected. */
export const DEVICE_ONLINE_TIMEOUT_MS = 10_000;
/** Wait before that is reported again. */
export const DEVICE_ONLINE_RETRY_MS = 1_000;
/** Commands without an answer that are known to have been written to a node's connection. */
export const NODE_DELIVERED_MAX = 1_000;
/** A caller of a command waits so much longer than the device, which ends it by itself. */
export const INVOKE_GRACE_MS = 5_000;

/** A reported question of a device: how often its row is read, and how many times. */
export const DEVICE_READ_MS = 50;
export const DEVICE_READS_MAX = 100;
