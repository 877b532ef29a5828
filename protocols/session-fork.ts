/** Forks: a session that begins as another session was after one of its turns. */

/** A turn of a session. */
export type ForkPoint = {
  /** session key */
  key: string;
  /** number of the turn, as the history lists it */
  turn: number;
};

/**
 * To a session that does not exist yet: copies the conversation of another session of the tenant up
 * to a turn; messages wait meanwhile. Reply: ForkDone, when all of it is copied; CONFLICT when the
 * session exists; NOT_FOUND when the turn is not kept, and then the session does not exist.
 */
export type SessionFork = { type: 'session.fork'; from: ForkPoint };

export type ForkDone = {
  sessionId: string;
  forkedFrom: ForkPoint;
  /** copied transcript entries */
  copied: number;
};
