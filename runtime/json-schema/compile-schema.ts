/**
 * Compiles schemas of external agents, devices and MCP servers: JSON Schema 2020-12 with the usual
 * formats, and draft-07 where `$schema` names it, as most MCP servers of 2025 do.
 * TypeBox compiles troupe's own schemas; external schemas are never loaded from elsewhere and share
 * nothing.
 *
 * Invariant: no check blocks the process for long. A pattern may backtrack for years (ReDoS), and
 * `uniqueItems` compares all pairs. So a check runs as a script with a time limit, which V8
 * enforces inside a pattern as well. That costs 50 µs. A schema that exceeds the limit is
 * suspended, so that it uses at most a twentieth of the process.
 */
import { Script, createContext } from 'node:vm';
import { Ajv, type Options } from 'ajv';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { CheckError } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';

export type SchemaCheck = (value: unknown) => readonly CheckError[];

// Only the first error: with all errors, a payload could choose how long the check takes. The code
// of a check grows with its schema; inlined references would grow with their product, and code
// optimization takes longer than everything else.
const OPTIONS = {
  strict: false,
  allErrors: false,
  logger: false,
  inlineRefs: false,
  code: { optimize: false },
} as const;

type Draft = 'draft-07' | '2020-12';

function ajvOf(draft: Draft, options: Options): Ajv | Ajv2020 {
  const ajv = draft === 'draft-07' ? new Ajv(options) : new Ajv2020(options);
  addFormats.default(ajv);
  return ajv;
}

/** Contain the compiled meta-schema, which takes long to compile, and no other schema. */
const drafts = new Map<Draft, Ajv | Ajv2020>();

function metaOf(draft: Draft): Ajv | Ajv2020 {
  const meta = drafts.get(draft) ?? ajvOf(draft, OPTIONS);
  drafts.set(draft, meta);
  return meta;
}

const draftOf = ({ $schema }: Record<string, unknown>): Draft =>
  typeof $schema === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test($schema)
    ? 'draft-07'
    : '2020-12';

/** Hundreds of fields take half as long on a slow machine. */
const COMPILE_MS = 1_000;
/**
 * The first check of a large schema takes 100 ms on a slow machine, because V8 parses its code
 * then.
 */
const CHECK_MS = 250;
const REST_MS = 20 * CHECK_MS;

/**
 * A check of values: the first error with its path, or []. Errors never show the value.
 * @throws TroupeError INVALID_ARGUMENT when it is not a schema, or refers to another document; (the
 * check) UNAVAILABLE while the schema is suspended
 */
export function compileSchema(schema: Record<string, unknown>): SchemaCheck {
  const draft = draftOf(schema);
  try {
    const meta = metaOf(draft);
    if (!meta.validateSchema(schema)) throw new Error(meta.errorsText());
    // Ajv's own keyword: such a check would answer later, and end the process where it fails.
    if ('$async' in schema) throw new Error('$async is not a keyword of JSON Schema');
    const validate = within(COMPILE_MS, () =>
      // One for each schema, and gone with it: Ajv forgets nothing that it has compiled.
      ajvOf(draft, { ...OPTIONS, validateSchema: false }).compile(schema),
    );
    return suspendedAfterTimeout((value) =>
      validate(value) ? [] : (validate.errors ?? []).map(checkError),
    );
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const what =
      code === TIMEOUT
        ? `it takes over ${COMPILE_MS} ms to compile: make it smaller`
        : `it is not a valid JSON Schema ${draft}: ${message}`;
    throw new TroupeError('INVALID_ARGUMENT', what, { cause });
  }
}

function suspendedAfterTimeout(check: SchemaCheck): SchemaCheck {
  let restsUntilMs = 0;
  return (value) => {
    const leftMs = restsUntilMs - performance.now();
    if (leftMs > 0) throw suspended(leftMs);
    try {
      return within(CHECK_MS, () => check(value));
    } catch {
      // Too long, or too deep for the stack: a schema that is sound does neither.
      restsUntilMs = performance.now() + REST_MS;
      return [{ path: '', message: 'cannot be checked in time against its schema' }];
    }
  };
}

const suspended = (leftMs: number): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    'validation against this schema took too long, so the schema is suspended: simplify the schema',
    { retryAfterMs: Math.ceil(leftMs) },
  );

const sandbox = createContext({ work: undefined });
const runWork = new Script('work()');

/** How often work is repeated for which the process did not have the processor. */
const REPEATS_MAX = 2;

/**
 * The result of the work. On a busy machine a process may wait for the processor longer than the
 * limit, so work that did not use half of it is repeated.
 * @throws what it throws; Error when it takes longer
 */
function within<T>(ms: number, work: () => T, repeats = REPEATS_MAX): T {
  sandbox['work'] = work;
  const before = process.cpuUsage();
  try {
    return runWork.runInContext(sandbox, { timeout: ms }) as T;
  } catch (error) {
    const { user, system } = process.cpuUsage(before);
    const hadProcessor = (user + system) / 1_000 > ms / 2;
    const isTimeout = (error as NodeJS.ErrnoException).code === TIMEOUT;
    if (!isTimeout || hadProcessor || repeats === 0) throw error;
    return within(ms, work, repeats - 1);
  } finally {
    sandbox['work'] = undefined;
  }
}

const TIMEOUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

const checkError = ({ instancePath, keyword, params, message }: ErrorObject): CheckError => {
  if (keyword === 'required')
    return {
      path: `${instancePath}/${pointer(params['missingProperty'])}`,
      message: 'is required',
    };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const field = params['additionalProperty'] ?? params['unevaluatedProperty'];
    return { path: `${instancePath}/${pointer(field)}`, message: 'is not a known field' };
  }
  return { path: instancePath, message: message ?? 'does not match the schema' };
};

/** A field's name as part of a JSON pointer (RFC 6901). */
const pointer = (field: unknown): string =>
  String(field).replaceAll('~', '~0').replaceAll('/', '~1');
