/** What methods ask of SessionWatch. Its own file: what the watch tells is made with a door. */
import type { RunEvent } from '../../../protocols/session.ts';
import type { Connection } from '../transport/connection.ts';

export type Watch = {
  watch(connection: Connection): void;
  unwatch(connection: Connection): void;
  /** @throws TroupeError RATE_LIMIT_EXCEEDED when it follows too many */
  follow(connection: Connection, sessionKey: string): Promise<void>;
  unfollow(connection: Connection, sessionKey: string): void;
  heard(event: RunEvent): void;
  /** all doors of the tenant tell it */
  changed(sessionKey: string, reason: string): void;
};
