/** Which NATS servers a cell may use. */
import type { NatsConnection } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';

/** Oldest line that supports what this program uses. */
const OLDEST = [2, 9] as const;
/** Before, two appends with one expectation could both be stored around a change of leader. */
const OLDEST_REPLICATED = [2, 11] as const;

/** @throws TroupeError INVALID_ARGUMENT when the server is too old for so many replicas */
export function checkServer(nc: NatsConnection, replicas: number): void {
  // Between two connections the client has no facts about a server.
  if (!nc.info) throw new Error('the connection is down');
  const { version } = nc.info;
  if (isBefore(version, OLDEST))
    throw tooOld(`the NATS server has version ${version}; 2.9 is the oldest that can be used`);
  if (replicas > 1 && isBefore(version, OLDEST_REPLICATED))
    throw tooOld(
      `the NATS server has version ${version}, and before 2.11 a stream with ${replicas} replicas may ` +
        'store two appends where one must be refused. Use one replica, or a newer server.',
    );
}

const isBefore = (version: string, [major, minor]: readonly [number, number]): boolean => {
  const [own = 0, ownMinor = 0] = version.split('.').map(Number);
  return own < major || (own === major && ownMinor < minor);
};

const tooOld = (why: string): TroupeError => new TroupeError('INVALID_ARGUMENT', why);
