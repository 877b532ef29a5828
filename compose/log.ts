/**
 * The log of a process: JSON lines on stderr. What must not be read later is not written: headers
 * and fields that hold secrets, and whatever callers put into envelopes, whose payloads may be
 * sensitive.
 *
 * Boundary: this is the net below. Who logs names what it logs, by facts; texts of errors hold no
 * secrets and no payloads by the contracts of those who make them.
 */
import { type DestinationStream, type Logger, pino } from 'pino';

/**
 * Fields whose values never appear in a log, at the top of a line's fields or up to three levels
 * below.
 */
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

/** Whoever else gets every line, as it is written. */
export type LogReader = { write(line: string): void };

/** At once, so that the last words of a process are there. @param reader who else gets them */
export const createLog = (level: string, reader?: LogReader): Logger => {
  const stderr = pino.destination({ dest: 2, sync: true });
  const both: DestinationStream = {
    write(line) {
      stderr.write(line);
      reader?.write(line);
    },
  };
  return logTo(level, reader === undefined ? stderr : both);
};

export const logTo = (level: string, to: DestinationStream): Logger =>
  pino({ level, redact: { paths, censor: CENSOR } }, to);
