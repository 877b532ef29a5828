/** Exit codes of commands, and how failures are printed. */
import { styleText } from 'node:util';
import { TroupeError } from '../protocols/errors.ts';
import { connectionFailure } from '../client/gateway-errors.ts';

/** Documented in docs/cli.md; scripts rely on them. */
export const exitCodes = {
  ok: 0,
  /** the command ran, but its task failed: a run that ended with an error, a failed check */
  failure: 1,
  /** wrong arguments, wrong configuration, an invalid request */
  usage: 2,
  /** no gateway responds */
  unreachable: 3,
  /** the gateway refuses: wrong token, missing right */
  refused: 4,
  /** deadline exceeded */
  timeout: 5,
  /** another process uses the port or the data folder */
  taken: 6,
  /** ended by Ctrl-C */
  interrupted: 130,
} as const;

/** Values of `details.reason` that mean: another process uses it. */
export const takenReasons = { port: 'PORT_TAKEN', folder: 'LOCKED' } as const;

/** The exit code of an error. */
export function exitCodeOf(error: unknown): number {
  if (connectionFailure(error)) return exitCodes.unreachable;
  if (takenPort(error)) return exitCodes.taken;
  if (!(error instanceof TroupeError)) return exitCodes.failure;
  const taken: readonly unknown[] = Object.values(takenReasons);
  if (taken.includes(error.details?.reason)) return exitCodes.taken;
  switch (error.code) {
    case 'INVALID_ARGUMENT':
    case 'NOT_FOUND':
    case 'CONFLICT':
      return exitCodes.usage;
    case 'UNAUTHORIZED':
    case 'FORBIDDEN':
    case 'RATE_LIMIT_EXCEEDED':
      return exitCodes.refused;
    case 'DEADLINE_EXCEEDED':
      return exitCodes.timeout;
    default:
      return exitCodes.failure;
  }
}

/** The system error of an occupied port, anywhere in the chain of causes. */
export function takenPort(error: unknown): { readonly port?: number } | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, port } = cause as NodeJS.ErrnoException & { port?: number };
    if (code === 'EADDRINUSE') return port === undefined ? {} : { port };
  }
  return undefined;
}

/**
 * Reports a failure on stderr, or on stdout as `{ error }` with `json`, and returns the exit code.
 * An error that is neither ours nor of the operating system is a bug and is shown with its stack.
 */
export function reportFailure(error: unknown, { json = false } = {}): number {
  const message = error instanceof Error ? error.message : String(error);
  if (json) {
    const data = error instanceof TroupeError ? error.toData() : { code: 'INTERNAL', message };
    process.stdout.write(`${JSON.stringify({ error: data }, null, 2)}\n`);
  } else {
    const prefix = styleText('red', 'troupe:', { stream: process.stderr });
    process.stderr.write(`${prefix} ${textOf(error, message)}\n`);
  }
  return exitCodeOf(error);
}

function textOf(error: unknown, message: string): string {
  if (error instanceof TroupeError || takenPort(error)) return `${message}${adviceFor(error)}`;
  if (isSystemError(error)) return `the operating system refused: ${message}${adviceFor(error)}`;
  return `internal error\n${(error instanceof Error && error.stack) || message}`;
}

const UNKNOWN_ISSUER =
  'Its certificate is not trusted: NODE_EXTRA_CA_CERTS=FILE names a PEM file of certificates to trust';

/** What a certificate that was refused needs, by the codes of Node. */
const TRUST: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_ISSUER,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Its certificate is for another name: use --url with that name',
};

function adviceFor(error: unknown): string {
  if (connectionFailure(error) === 'unreachable') {
    const { code = '' } = ((error as Error).cause ?? {}) as { code?: string };
    return `. ${TRUST[code] ?? 'Is troupe running? Start it: troupe start'}`;
  }
  if (isSystemError(error) && ['EMFILE', 'ENFILE'].includes(error.code))
    return '. Allow this process more open files: ulimit -n 4096';
  const hint = error instanceof TroupeError ? error.details?.remediationHint : undefined;
  return typeof hint === 'string' ? `. ${hint}` : '';
}

/** Whether it is an error of a system call, as Node reports it. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'errno' in error && 'syscall' in error && 'code' in error;
