/**
 * The log of a process on stderr: JSON lines, or lines for people at a terminal. Headers and fields
 * that contain secrets are not written, and neither is the content of envelopes, whose payloads may
 * be sensitive.
 *
 * This redaction is the last safeguard. Callers log named facts, and error messages contain no
 * secrets or payloads by contract.
 */
import { type DestinationStream, type Logger, pino } from 'pino';
import { traceFields } from '../runtime/index.ts';
import { readableLine } from './readable-log.ts';

/** Names of fields whose values are never logged, at the top level and up to three levels below. */
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

/** Of a log line that a person at a terminal does not need: the printed URL says the same. */
const SAID_BY_THE_URL = '"msg":"gateway: listening"';

/** Also receives every line, as it is written. */
export type LogReader = { write(line: string): void };

/**
 * Writes synchronously, so that the last lines of a process are written. @param reader also
 * receives every line
 */
export const createLog = (level: string, reader?: LogReader): Logger => {
  const stderr = pino.destination({ dest: 2, sync: true });
  const isTerminal = process.stderr.isTTY;
  const to: DestinationStream = {
    write(line) {
      if (!isTerminal) stderr.write(line);
      else if (!line.includes(SAID_BY_THE_URL)) stderr.write(readableLine(line, process.stderr));
      reader?.write(line);
    },
  };
  return logTo(level, isTerminal || reader !== undefined ? to : stderr);
};

export const logTo = (level: string, to: DestinationStream): Logger =>
  pino({ level, redact: { paths, censor: CENSOR }, mixin: traceFields }, to);
