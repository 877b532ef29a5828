/** Random records and mailbox entries of every kind. */
import fc from 'fast-check';
import { address } from '../../../protocols/address.ts';
import type {
  JournalRecord,
  MailEntry,
  OutItem,
  RowPut,
  Turn,
} from '../../../runtime/shard/commit/records.ts';

const natural = fc.nat({ max: 2 ** 40 });
const token = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,10}$/);
const actor = fc
  .tuple(token, token, token)
  .map(([tenant, type, key]) => address(tenant, type, key));
const lane = fc.constantFrom('data' as const, 'control' as const);
const bytes = fc
  .uint8Array({ maxLength: 40 })
  .map((array): Uint8Array => Buffer.from(array.buffer, array.byteOffset, array.length));
// The key __proto__ and negative zero do not survive encoding: the codec renames the key, and -0 is
// 0 as in JSON.
const json = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value): unknown => JSON.parse(JSON.stringify(value)));
const event = fc
  .tuple(token, fc.dictionary(token, json, { maxKeys: 3 }))
  .map(([type, fields]) => ({ ...fields, type }));
const error = fc.record({ code: fc.constant('INTERNAL' as const), message: fc.string() });

export const outItem: fc.Arbitrary<OutItem> = fc.record(
  {
    to: actor,
    id: token,
    event,
    hops: fc.nat(40),
    from: actor,
    reply: fc.record({ id: token, actor, inbox: token, key: token }, { requiredKeys: ['id'] }),
    principal: fc.record({ sub: token, roles: fc.array(token) }),
    traceId: token,
    deadline: natural,
    supervise: fc.constant(true),
  },
  { requiredKeys: ['to', 'id', 'event', 'hops'] },
);

const cell = fc.constant('cell');
export const mailEntry: fc.Arbitrary<MailEntry> = fc.oneof(
  fc.record({
    kind: fc.constant('links' as const),
    cell,
    src: fc.nat(100),
    lane,
    n: fc.integer({ min: 1, max: 2 ** 40 }),
    items: fc.array(outItem, { minLength: 1, maxLength: 4 }),
  }),
  fc.record(
    {
      kind: fc.constant('client' as const),
      cell,
      item: outItem,
      key: fc.string(),
      payloadHash: token,
      notAfter: natural,
      ttlMs: natural,
    },
    { requiredKeys: ['kind', 'cell', 'item', 'payloadHash', 'notAfter', 'ttlMs'] },
  ),
  fc.record({
    kind: fc.constant('outcome' as const),
    cell,
    intent: fc.string(),
    attempt: fc.nat(9),
    outcome: fc.oneof(
      fc.record({ kind: fc.constant('done' as const), output: json }),
      fc.record({ kind: fc.constant('failed' as const), error }),
      fc.record({ kind: fc.constantFrom('notStarted' as const, 'again' as const) }),
    ),
  }),
);

const put: fc.Arbitrary<RowPut> = fc.tuple(token, fc.string(), fc.option(bytes, { nil: null }));
const turn: fc.Arbitrary<Turn> = fc.record(
  {
    turnNo: natural,
    input: token,
    actor,
    machine: token,
    result: fc.constantFrom('applied' as const, 'refused' as const, 'stashed' as const),
    why: fc.string(),
    puts: fc.array(put, { maxLength: 3 }),
    state: fc.oneof(token, fc.record({ running: token })),
    out: fc.array(
      fc.tuple(
        fc.oneof(fc.nat(9), fc.constantFrom('dlq' as const, 'transcript' as const)),
        lane,
        natural,
        outItem,
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['turnNo', 'input', 'actor', 'machine', 'result', 'puts', 'out'] },
);

const head = { cell, recId: token, epoch: natural, prev: natural, now: natural };
const mark = fc.tuple(token, natural);
export const journalRecord: fc.Arbitrary<JournalRecord> = fc.oneof(
  fc.record({ t: fc.constant('EPOCH' as const), ...head, worker: token }),
  fc.record({
    t: fc.constant('TURNS' as const),
    ...head,
    mailFloor: natural,
    ctlFloor: natural,
    keyNow: natural,
    turns: fc.array(turn, { maxLength: 3 }),
    puts: fc.array(put, { maxLength: 3 }),
    linkIn: fc.array(mark, { maxLength: 3 }),
    outFloor: fc.array(mark, { maxLength: 3 }),
  }),
  fc.record({ t: fc.constant('TRY' as const), ...head, input: token }),
  fc.record({
    t: fc.constant('SNAPSHOT' as const),
    ...head,
    covers: natural,
    blob: token,
    sha256: token,
    bytes: natural,
  }),
  fc.record({ t: fc.constant('HANDOFF' as const), ...head, to: token }),
);
