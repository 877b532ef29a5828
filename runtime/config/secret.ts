/**
 * Secrets of the configuration: a value that can be used but never printed, and the three ways to
 * refer to one without writing it into the file.
 *
 * Boundary: reads environment variables, files and the output of commands at load time; never
 * writes.
 * Invariant: no text made from a `Secret` by JSON, template, inspection or a logger holds its
 * value.
 */
import { execFileSync } from 'node:child_process';
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** What a printed secret looks like. */
export const redacted = '***';

/** How long a secret's command may run, milliseconds. */
export const secretCommandMs = 10_000;

/** A resolved secret. Its value leaves only through `reveal`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that sends or stores it. */
  reveal(): string {
    return this.#value;
  }

  /** Whether `text` is the value; takes the same time wherever they differ. */
  matches(text: string): boolean {
    const digest = (input: string) => createHash('sha256').update(input).digest();
    return timingSafeEqual(digest(this.#value), digest(text));
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return redacted;
  }
}

/** One that is configured, but was not read, because the caller does not need it. */
export class UnreadSecret extends Secret {
  constructor() {
    super('');
  }

  /** @throws Error always */
  override reveal(): never {
    throw new Error('this secret was not read: LoadInput.secretsWithin excludes it');
  }

  /** @throws Error always */
  override matches(): never {
    return this.reveal();
  }
}

/** A secret as the file may write it. */
export type SecretReference =
  | string
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

export type SecretContext = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of a path written in the configuration. */
  readonly resolvePath: (path: string) => string;
};

/** The secret, or why there is none, in words for the user that never hold a value. */
export type Resolved = { readonly secret: Secret } | { readonly failure: string };

/** Resolves one reference. A trailing line break of a file or a command's output is dropped. */
export function resolveSecret(reference: SecretReference, context: SecretContext): Resolved {
  if (typeof reference === 'string') return filled(reference, 'the text is empty');
  if ('env' in reference) {
    const value = context.env[reference.env] ?? '';
    return filled(value, `the environment variable ${reference.env} is not set`);
  }
  if ('file' in reference) return fromFile(context.resolvePath(reference.file));
  return fromCommand(reference.command);
}

function fromFile(path: string): Resolved {
  try {
    return filled(withoutLineBreak(readFileSync(path, 'utf8')), `the file ${path} is empty`);
  } catch (error) {
    return { failure: `the file ${path} cannot be read (${codeOf(error)})` };
  }
}

function fromCommand(command: readonly string[]): Resolved {
  const [program = '', ...args] = command;
  try {
    const output = execFileSync(program, args, {
      encoding: 'utf8',
      timeout: secretCommandMs,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return filled(withoutLineBreak(output), `the command ${program} printed nothing`);
  } catch (error) {
    return { failure: `the command ${program} failed (${codeOf(error)})` };
  }
}

function filled(value: string, otherwise: string): Resolved {
  return value === '' ? { failure: otherwise } : { secret: new Secret(value) };
}

const withoutLineBreak = (text: string) => text.replace(/\r?\n$/, '');

/** Only codes: the message of a failed command may hold what it printed. */
function codeOf(error: unknown): string {
  const { code, status, signal } = error as { code?: string; status?: number; signal?: string };
  return code ?? (signal ? `ended by ${signal}` : `exit code ${status ?? 'unknown'}`);
}
