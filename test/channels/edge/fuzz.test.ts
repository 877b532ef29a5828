import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Edge } from '../../../channels/edge/edge.ts';
import { isErrorCode } from '../../../protocols/errors.ts';
import { isFinal } from '../../../protocols/task.ts';
import { bytesOf, envelope, openRealTasks, type RealTasks } from './real-tasks.ts';

const CASES = Number(process.env['TROUPE_FUZZ_CASES'] ?? 5_000);
const LOGGED_MAX = 3;

let real: RealTasks;
let edge: Edge;
const faults: object[] = [];
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge({
    locality: 'here',
    log: { error: (facts) => faults.length < LOGGED_MAX && faults.push(facts) },
  });
});
afterAll(() => real.stop());

const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'type', 'meta', 'toString', 'eta_sec', ''),
  fc.string({ unit: 'binary' }),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.double(),
  fc.constantFrom(null, -0, 1e308, Number.MAX_SAFE_INTEGER, '\u0000', '\ud800', '﷽', [], {}),
  fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
);
const path = fc.constantFrom(
  ...Object.keys(envelope()).map((field) => [field]),
  ['payload', 'schema_version'],
  ['payload', 'text'],
  ['payload', 'artifact_uri'],
  ['payload', 'task_id'],
  ['principal', 'sub'],
  ['principal', 'roles'],
  ['context_id'],
  ['data_locality'],
  ['resource_links'],
);
const action = fc.constantFrom(
  'test.echo_text',
  'test.echo_text',
  'test.echo_text',
  'test.hold_work.cancel',
  'task.get_status',
  'task.provide_input',
  'test.guard_door',
);
type Json = Record<string, unknown>;
const put = (target: Json, [head, ...rest]: string[], to: unknown): void => {
  const field = head!;
  if (rest.length > 0) put((target[field] ??= {}) as Json, rest, to);
  else Object.defineProperty(target, field, { value: to, enumerable: true, writable: true });
};
const word = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
/** Plausible values of a field, so that faults behind the schema are found too. */
const fitting = fc.oneof(
  fc.record({ at: fc.constant(['payload', 'text']), to: word }),
  fc.record({ at: fc.constant(['payload', 'subject']), to: word }),
  fc.record({ at: fc.constant(['payload', 'eta_sec']), to: fc.integer() }),
  fc.record({ at: fc.constant(['payload', 'task_id']), to: word }),
  fc.record({ at: fc.constant(['payload', 'input']), to: fc.jsonValue() }),
  fc.record({ at: fc.constantFrom(['idempotency_key'], ['context_id']), to: word }),
  fc.record({ at: fc.constant(['data_locality']), to: fc.constantFrom('here', 'there') }),
  fc.record({ at: fc.constant(['seq']), to: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ at: fc.constant(['ttl_sec']), to: fc.integer({ min: 1, max: 86_400 }) }),
  fc.record({ at: fc.constant(['action_version']), to: fc.constantFrom('1.1.0', '2.0.0') }),
  fc.record({ at: fc.constant(['timestamp']), to: fc.date({ noInvalidDate: true }) }),
);
const mutation = fc.oneof(
  { weight: 8, arbitrary: fitting },
  { weight: 4, arbitrary: fc.record({ at: path, to: value }) },
  {
    weight: 1,
    arbitrary: fc.record({ at: fc.array(key, { minLength: 1, maxLength: 1 }), to: value }),
  },
  { weight: 1, arbitrary: fc.record({ at: fc.tuple(fc.constant('payload'), key), to: value }) },
  { weight: 1, arbitrary: fc.record({ at: path, to: fc.constant(undefined) }) },
);
/** The text of an envelope with some faults, truncated, or with some bytes changed. */
const bytes = fc
  .record({
    action,
    mutations: fc.array(mutation, { maxLength: 2 }),
    cut: fc.nat({ max: 1_000 }),
    noise: fc.array(fc.tuple(fc.nat({ max: 800 }), fc.nat({ max: 255 })), { maxLength: 2 }),
    noisy: fc.nat({ max: 7 }),
    cutting: fc.nat({ max: 15 }),
  })
  .map(({ action: name, mutations, cut, cutting, noise, noisy }) => {
    const mutated: Json = { ...envelope({ action: name }) };
    const task = name.startsWith('task.') || name.endsWith('.cancel');
    mutated['payload'] = { schema_version: '1.0', ...(task ? { task_id: 'a' } : { text: 'a' }) };
    for (const { at, to } of mutations) {
      try {
        put(mutated, [...at], to);
      } catch {
        // A field of a value that may no longer be an object.
      }
    }
    const sent = Buffer.from(bytesOf(mutated));
    if (noisy === 0) for (const [at, byte] of noise) if (at < sent.length) sent[at] = byte;
    return cutting === 0 ? sent.subarray(0, cut) : sent;
  });

it('any input is answered by a task or an error of the taxonomy', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      const answer = await edge.submit({
        transport: 'http',
        bytes: sent,
        authorization: 'Bearer alice',
        waitMs: 0,
      });
      if (answer.kind === 'task') {
        expect(typeof answer.view.task_id === 'string' || isFinal(answer.view.state)).toBe(true);
        return;
      }
      const { code, message } = answer.error;
      expect(isErrorCode(code)).toBe(true);
      expect(['INTERNAL', 'UNAVAILABLE']).not.toContain(code);
      expect(message).not.toMatch(/\n\s+at /);
      expect(JSON.stringify(answer)).toBeTypeOf('string');
    }),
    { numRuns: CASES },
  );
  expect(faults).toEqual([]);
});

it.each([
  ['nested lists', '['.repeat(400_000) + ']'.repeat(400_000)],
  ['a number outside the range of a double', '1e999'],
  ['a text with a lone surrogate', '"\\ud800"'],
  ['a field named like a prototype', '{"__proto__":{"polluted":1}}'],
  ['a thousand fields', `{${Array.from({ length: 1_000 }, (_, n) => `"f${n}":0`).join()}}`],
])('%s in a payload is refused or transported, and does no harm', async (_, json) => {
  const asked = { ...envelope(), payload: { schema_version: '1.0', text: 'a', more: '%' } };
  const text = JSON.stringify(asked).replace('"%"', json);
  const answer = await edge.submit({
    transport: 'http',
    bytes: Buffer.from(text),
    authorization: 'Bearer alice',
  });
  expect(answer).toMatchObject({ kind: 'refused', error: { code: 'INVALID_ARGUMENT' } });
  expect(({} as Json)['polluted']).toBeUndefined();
  expect(faults).toEqual([]);
});
