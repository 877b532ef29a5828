/**
 * The log of a process: JSON lines on stderr. What must not be read later is not written: headers
 * and fields that hold secrets, and whatever callers put into envelopes, whose payloads may be
 * sensitive (EN22).
 *
 * Boundary: this is the net below. Who logs names what it logs, by facts; texts of errors hold no
 * secrets and no payloads by the contracts of those who make them.
 */
import { type DestinationStream, type Logger, pino } from 'pino';

/** Fields whose values never stand in a log, at the top of a line's facts or one to three below. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'signature',
  'x-jws-signature',
  'token',
  'password',
  'secret',
  'apiKey',
  'credentials',
  'jwe',
  'd',
  'payload',
  'result',
  'input',
  'envelope',
] as const;

const CENSOR = '[not logged]';

const paths = SECRET_FIELDS.flatMap((field) => {
  const last = /^[A-Za-z_]\w*$/.test(field) ? field : `["${field}"]`;
  const below = (prefix: string) => (last.startsWith('[') ? prefix + last : `${prefix}.${last}`);
  return [last, below('*'), below('*.*'), below('*.*.*')];
});

/** @param to default stderr, written at once, so that the last words of a process are there */
export const createLog = (
  level: string,
  to: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger => pino({ level, redact: { paths, censor: CENSOR } }, to);
