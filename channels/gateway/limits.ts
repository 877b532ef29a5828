/**
 * Every bound of the gateway that the wire protocol does not name itself (I8); those it names stand
 * in protocols/gateway/frames.ts. Times in milliseconds.
 */

/** Connections of one IP that have not said a good hello yet. */
export const UNAUTHENTICATED_PER_IP_MAX = 32;
/** Open connections in all; one more is refused with HTTP 503. */
export const CONNECTIONS_MAX = 10_000;
/**
 * Bytes a client may send before `hello-ok`: one frame of the longest length, and what frames it.
 */
export const HANDSHAKE_BYTES_MAX = 65_536 + 1_024;

/** So many refused secrets of one IP within the window lock that IP out. */
export const AUTH_FAILURES_MAX = 10;
export const AUTH_WINDOW_MS = 60_000;
export const AUTH_LOCKOUT_MS = 60_000;
/** IPs whose failures are remembered; the oldest is forgotten first. */
export const AUTH_IPS_MAX = 10_000;

/** Requests of one connection that wait for their answer; one more is refused as UNAVAILABLE. */
export const REQUESTS_OPEN_MAX = 10_000;
/**
 * Above this a client's answers are read too slowly to stream deltas to it: it gets them joined,
 * later.
 */
export const LAGGING_BYTES = 1_048_576;
/** How long a client that was told to go may take to close before its socket is destroyed. */
export const CLOSE_GRACE_MS = 1_000;

/** How long a door waits for the session's acknowledgement of a request. */
export const ACCEPT_TIMEOUT_MS = 30_000;
/** Longest idempotency key; it becomes the run's id. */
export const RUN_ID_CHARACTERS_MAX = 256;

/** Runs whose text so far is kept for people who watch; the oldest is dropped first. */
export const LIVE_RUNS_MAX = 10_000;
/** Text kept and streamed per run; what comes after it is told by the final only. */
export const LIVE_TEXT_CHARACTERS_MAX = 524_288;
/** Ended runs remembered so that a doubled end is told once. */
export const ENDED_RUNS_MAX = 20_000;
/** A live run that was silent for this long is looked up, in case its end was lost on the Bus. */
export const SILENT_RUN_MS = 2_000;
/** Interval of that look-up, and of the one for runs that somebody waits for. */
export const POLL_MS = 1_000;
/** Look-ups without a row after which a run that somebody waits for is given up as gone. */
export const POLLS_MISSING_MAX = 30;

/**
 * Deltas of one run are told at most once per interval, which grows with the text from the first to
 * the second.
 */
export const STREAM_INTERVAL_MS = 50;
export const STREAM_INTERVAL_LONG_MS = 150;
/** Characters at which the interval has reached its longest. */
export const STREAM_LONG_CHARACTERS = 32_768;

/** What a tool says of its progress is joined as deltas are; of one interval the end is kept. */
export const TOOL_UPDATE_CHARACTERS_MAX = 65_536;

/** Answers of commands remembered, for clients that ask again under the same key. */
export const COMMANDS_KEPT_MAX = 1_000;
/** Runs whose blocks somebody asked for. */
export const BLOCK_RUNS_MAX = 1_000;
/** How long `sessions.compact` waits: a model is called. */
export const COMPACT_TIMEOUT_MS = 300_000;

/** Interval in which questions that wait are looked at, while one does. */
export const APPROVAL_POLL_MS = 500;
/** Looks for a question that a run has told of, before it is given up. */
export const APPROVAL_LOOKS_MAX = 60;
/** Rows of approvals that are read for a list. */
export const APPROVALS_READ_MAX = 10_000;

/** Presence is told at most once per this interval. */
export const PRESENCE_INTERVAL_MS = 100;

/** Messages of `chat.history` when it is not told. */
export const HISTORY_LIMIT = 200;
/** Characters of one text in `chat.history` when it is not told; the rest is cut. */
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
