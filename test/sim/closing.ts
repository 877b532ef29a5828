/**
 * Closing: the checks of the auditor when the cluster is idle. Every message is accounted for, no
 * accepted work is open, and the rows of the owners equal the fold of the logs (I3, I9, V5).
 */
import { isDeepStrictEqual } from 'node:util';
import { decode } from '../../protocols/codec.ts';
import { ERRORS, type ErrorCode, type ErrorData } from '../../protocols/errors.ts';
import type { ActorRow } from '../../runtime/shard/turn/actor-row.ts';
import { TABLE } from '../../runtime/shard/commit/fold.ts';
import { decodeIntent, type Intent } from '../../runtime/shard/turn/intents.ts';
import type { OutItem } from '../../runtime/shard/commit/records.ts';
import type { State } from '../../runtime/state/state.ts';
import { type Auditor, type Fate, type Request, type Seen, tallyOf } from './auditor.ts';
import type { Ledger, ShardLedger } from './ledger.ts';

/** Why the cluster is not idle; undefined when it is. */
export function unrest({ ledger, derailed }: Auditor): string | undefined {
  for (const s of ledger.shards) {
    for (const [lane, floor] of [
      ['m', s.mailFloor],
      ['c', s.ctlFloor],
    ] as const) {
      const last = ledger.mailLast(lane, s.shard);
      if (floor !== last) return `shard ${s.shard}: ${lane} is read to ${floor} of ${last}`;
    }
    for (const [link, outs] of s.outs) {
      const reached = reachedOf(ledger, s, link);
      if (reached < outs.length)
        return `shard ${s.shard}: link ${link} is settled to ${reached} of ${outs.length}`;
    }
    for (const [id] of ledger.table(s.shard, TABLE.timer)) return `timer ${id} is armed`;
    for (const [id, bytes] of ledger.table(s.shard, TABLE.intent))
      if (decodeIntent(bytes).state !== 'unknown') return `effect ${id} is open`;
    for (const [actor, bytes] of ledger.table(s.shard, TABLE.actor)) {
      const { status, stashFirst, stashEnd } = ledger.actorRow(bytes);
      const keeps = status === 'suspended' || status === 'quarantined';
      const waits = stashEnd > stashFirst && !keeps;
      if (waits && !derailed.has(actor)) return `${actor} has a stash and is ${status}`;
    }
  }
  return undefined;
}

function reachedOf(ledger: Ledger, s: ShardLedger, link: string): number {
  const [target, lane] = link.split('/') as [string, string];
  const to = ledger.shards[Number(target)];
  if (to) return to.accepted.get(`${s.shard}/${lane}`) ?? 0;
  const outs = s.outs.get(link)!;
  const missing = outs.findIndex(({ item }) => !ledger.keptIds.has(`${target} ${item.id}`));
  return missing < 0 ? outs.length : missing;
}

/** Actors that wait for an order of a supervisor. */
export function* suspended(ledger: Ledger): Generator<string> {
  for (const { shard } of ledger.shards)
    for (const [actor, bytes] of ledger.table(shard, TABLE.actor))
      if (ledger.actorRow(bytes).status === 'suspended') yield actor;
}

/** Effects that wait for the decision of an operator. */
export function* undecided(ledger: Ledger): Generator<[id: string, intent: Intent]> {
  for (const { shard } of ledger.shards)
    for (const [id, bytes] of ledger.table(shard, TABLE.intent)) yield [id, decodeIntent(bytes)];
}

/** All faults of an idle cluster. */
export function closingFaults(auditor: Auditor): string[] {
  const { ledger } = auditor;
  return [
    ...ledger.shards.flatMap((s) => [...mailFaults(ledger, s), ...sentFaults(auditor, s)]),
    ...ledger.shards.flatMap(({ shard }) => [...actorFaults(auditor, shard)]),
    ...[...auditor.requests.values()].flatMap((request) => [...requestFaults(auditor, request)]),
    ...keptFaults(ledger),
  ];
}

/** Every client's entry and every outcome has its turn. */
function* mailFaults(ledger: Ledger, s: ShardLedger): Generator<string> {
  for (const lane of ['m', 'c'] as const) {
    for (const [i, entry] of (ledger.mail.get(`${lane}${s.shard}`) ?? []).entries()) {
      // positions may have gaps
      if (entry && entry.kind !== 'links' && !s.inputs.has(`${lane}${i + 1}.0`))
        yield `shard ${s.shard}: entry ${lane}${i + 1} has no turn`;
    }
  }
}

/** Every message between actors has one fate. */
function* sentFaults(auditor: Auditor, s: ShardLedger): Generator<string> {
  for (const [link, outs] of s.outs) {
    if (Number.isNaN(Number(link.split('/')[0]))) continue;
    for (const { item } of outs) {
      const ends = auditor.endsOf(item.id);
      if (ends.length === 1 || (ends.length === 0 && isStashed(auditor.ledger, item))) continue;
      yield `${item.id} (${item.event.type} ${item.from} -> ${item.to}) has ${ends.length} ends: ${ends.join(', ')}`;
    }
  }
}

/** Whether the message waits in the stash of an actor. */
export const isStashed = (ledger: Ledger, item: OutItem): boolean =>
  ledger.shards.some(({ shard }) =>
    [...ledger.table(shard, TABLE.stash)].some(
      ([, bytes]) => decode<{ item?: OutItem }>(bytes).item?.id === item.id,
    ),
  );

/** Work that is open according to the rows of actors although the cluster is idle. */
export function* actorFaults({ ledger, derailed }: Auditor, shard: number): Generator<string> {
  for (const [actor, bytes] of ledger.table(shard, TABLE.actor)) {
    const row: ActorRow = ledger.actorRow(bytes);
    if (row.status !== 'active' || derailed.has(actor)) continue;
    const { armed, fired, cancelled, begun, ended, aborted } = tallyOf(row)!;
    if (
      row.row.snap.v !== 'idle' &&
      row.row.snap.v !== 'done' &&
      !waitsForDecision(ledger, shard, actor)
    )
      yield `${actor} is left in ${JSON.stringify(row.row.snap.v)}`;
    else if (armed !== fired + cancelled)
      yield `${actor}: ${armed} timers armed, ${fired} fired, ${cancelled} cancelled`;
    else if (begun !== ended + aborted && !waitsForDecision(ledger, shard, actor))
      yield `${actor}: ${begun} effects begun, ${ended} ended, ${aborted} aborted`;
  }
}

const waitsForDecision = (ledger: Ledger, shard: number, actor: string): boolean =>
  [...ledger.table(shard, TABLE.intent)].some(([, bytes]) => decodeIntent(bytes).actor === actor);

/**
 * Copies of one request with one key: at most one has a lasting end. Without a key every copy is a
 * separate message. An accepted request has an end.
 */
function* requestFaults(auditor: Auditor, request: Request): Generator<string> {
  const copies = auditor.copiesOf(request.uid);
  const ends = copies.flatMap((id) => auditor.endsOf(id));
  const lasting = (ids: readonly string[]) =>
    ids.flatMap((id) => auditor.fatesOf(id)).filter(lasts).length +
    ids.flatMap((id) => auditor.endsOf(id)).filter((end) => end === 'letter COALESCED').length;
  const count = request.keyed
    ? lasting(copies)
    : Math.max(0, ...copies.map((id) => auditor.endsOf(id).length));
  const name = `request ${request.uid} (${request.outcome}${request.keyed ? ', keyed' : ''})`;
  if (count > 1) yield `${name} has ${count} lasting ends: ${ends.join(', ')}`;
  if (request.outcome === 'accepted' || request.outcome === 'answered') {
    const stashed = copies.some((id) =>
      auditor.fatesOf(id).some(({ result }) => result === 'stashed'),
    );
    if (ends.length === 0 && !stashed) yield `${name} is lost`;
  }
  if (request.keyed) yield* answerFaults(name, auditor.answersOf(request.uid));
}

/** All requests with one key receive one answer, except for temporary failures. */
function* answerFaults(name: string, answers: readonly Seen[]): Generator<string> {
  const lasting = answers.filter(({ error }) => !error || answersFor(error));
  for (const { result, error } of lasting) {
    const first = lasting[0]!;
    if (!isDeepStrictEqual([result, error], [first.result, first.error]))
      yield `${name} was answered differently: ${JSON.stringify([first, { result, error }])}`;
  }
}

const answersFor = ({ code, message }: ErrorData): boolean =>
  !ERRORS[code].retriable && !/the idempotency key/.test(message);

const LASTING = new Set(['applied', 'ignored', 'expired', 'crashed', 'poison']);

/** Whether a fate is stored under the key of the request, or would be visible twice. */
export const lasts = ({ result, view }: Fate): boolean => {
  const { why = '' } = view.turn;
  if (result !== 'refused') return LASTING.has(result);
  return !ERRORS[why.split(':')[0] as ErrorCode].retriable && !/the idempotency key/.test(why);
};

/** Transcripts and dead letters contain the sent items in the order sent. */
function keptFaults(ledger: Ledger): string[] {
  const faults: string[] = [];
  for (const [subject, items] of ledger.kept) {
    const last = new Map<string, number>();
    for (const { id } of items) {
      const [, shard, turnNo, n] = id.split('-') as [string, string, string, string];
      const place = Number(turnNo) * 1_000 + Number(n);
      if (place <= (last.get(shard) ?? 0)) faults.push(`${subject}: ${id} is out of order`);
      last.set(shard, place);
    }
  }
  return faults;
}

/** Tables that turns write; only the fold uses the others. */
const COMPARED = [
  ...Object.values(TABLE).filter((table) => table !== TABLE.scalars && table !== TABLE.out),
  'ix:tally',
];

/** Differences between the rows of an owner and the fold of the logs. */
export function* stateFaults(ledger: Ledger, shard: number, state: State): Generator<string> {
  for (const table of COMPARED) {
    const rows = ledger.table(shard, table);
    const found = state.range(shard, table, { limit: 100_000 });
    let same = 0;
    let last: string | undefined;
    for (const { key, value } of found) {
      const expected = rows.get(key);
      if (!expected) yield `shard ${shard}: the owner has ${table} ${key}, which the logs lack`;
      else if (Buffer.compare(expected, value) !== 0)
        yield `shard ${shard}: ${table} ${key} differs from the logs`;
      else if (key === last) yield `shard ${shard}: the owner has ${table} ${key} twice`;
      else same++;
      last = key;
    }
    if (same === rows.size) continue;
    const owned = new Set(found.map(({ key }) => key));
    for (const key of rows.keys())
      if (!owned.has(key)) yield `shard ${shard}: the owner lacks ${table} ${key}`;
  }
}
