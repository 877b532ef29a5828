/**
 * HistoryReader: the turns of one actor, newest first: those that no segment contains yet from the
 * journal, all others from segments, or from the actor's own turns with bodies. Every process can
 * read them; no owner takes part.
 */
import { type Address, parseAddress, shardOf } from '../../protocols/address.ts';
import { fullHistorySubject, historySubject } from '../../protocols/subjects.ts';
import type { Log } from '../log/log.ts';
import { erasesHistory, type FullTurn, readFullTurns, removesHistory } from './full-turns.ts';
import { turnsOfJournal } from './journal-turns.ts';
import type { HistoryPolicy, HistoryRules } from './policy.ts';
import { DAY_MS } from './room.ts';
import { lastSegment, segmentsBackwards, summariesIn } from './segment.ts';
import { openEffects, readSummaries, SummaryWriter, type TurnSummary } from './summary.ts';

export type HistoryReaderOptions = {
  readonly log: Log;
  readonly env: string;
  readonly shards: number;
  readonly rules: HistoryRules;
  readonly wallMs: () => number;
};

/** A segment may be stored while the journal is read. */
const ATTEMPTS_MAX = 3;

export class HistoryReader {
  readonly #o: HistoryReaderOptions;

  constructor(options: HistoryReaderOptions) {
    this.#o = options;
  }

  policyOf(actor: Address): HistoryPolicy {
    return this.#o.rules.policyOf(parseAddress(actor).type);
  }

  /** Each turn that is kept, once. */
  async *newestFirst(actor: Address): AsyncGenerator<TurnSummary> {
    const { turns: turnsMax, days } = this.policyOf(actor);
    const oldestMs = this.#o.wallMs() - days * DAY_MS;
    let last = Number.POSITIVE_INFINITY;
    let count = 0;
    for await (const turn of this.#all(actor)) {
      if (turn.turn >= last) continue;
      if (erasesHistory(turn) || turn.at < oldestMs || ++count > turnsMax) return;
      last = turn.turn;
      yield turn;
    }
  }

  /** One turn with its bodies; undefined if they are not kept, or not any more. */
  async turn(actor: Address, turnNo: number): Promise<FullTurn | undefined> {
    const turns = await this.turnsWithBodies(actor);
    return turns.find(({ turn }) => turn.turnNo === turnNo);
  }

  /**
   * All turns whose bodies are kept, oldest first. Of an actor whose type keeps summaries, those
   * that no segment contains yet.
   */
  async turnsWithBodies(actor: Address): Promise<readonly FullTurn[]> {
    const { keep } = this.policyOf(actor);
    if (keep === 'none') return [];
    const newest = await this.#unstored(actor);
    const removal = newest.findLastIndex(({ turn }) => removesHistory(turn));
    if (removal >= 0) return newest.slice(removal + 1);
    if (keep === 'summary') return newest;
    const { log, env } = this.#o;
    const stored = await readFullTurns(log, fullHistorySubject(env, actor));
    return [...stored, ...newest.filter(({ turn }) => turn.turnNo > lastOf(stored))];
  }

  /** The same, without those that are older than the limits of the type. */
  async shownWithBodies(actor: Address): Promise<readonly FullTurn[]> {
    const { turns, days } = this.policyOf(actor);
    const oldestMs = this.#o.wallMs() - days * DAY_MS;
    return (await this.turnsWithBodies(actor)).slice(-turns).filter(({ now }) => now >= oldestMs);
  }

  async *#all(actor: Address): AsyncGenerator<TurnSummary> {
    const { keep } = this.policyOf(actor);
    if (keep === 'none') return;
    if (keep === 'full') {
      yield* summarized(await this.turnsWithBodies(actor)).toReversed();
      return;
    }
    yield* summarized(await this.#unstored(actor)).toReversed();
    const { log } = this.#o;
    for await (const segment of segmentsBackwards(log, this.#segmentsOf(actor)))
      yield* summariesIn(segment, actor).toReversed();
  }

  /** Turns of the journal behind the last segment. */
  async #unstored(actor: Address): Promise<FullTurn[]> {
    const { log } = this.#o;
    const subject = this.#segmentsOf(actor);
    const found = new Map<number, FullTurn>();
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const last = await lastSegment(log, subject);
      for await (const { now, turns } of turnsOfJournal(this.#journalOf(actor), {
        after: last?.covers ?? 0,
        actor,
      })) {
        for (const turn of turns) keepKnown(found, { now, aheadMs: 0, turn });
      }
      if ((await log.last(subject)) === (last?.position ?? 0)) break;
    }
    return [...found.values()];
  }

  #segmentsOf(actor: Address): string {
    return historySubject(this.#o.env, shardOf(actor, this.#o.shards));
  }

  #journalOf(actor: Address) {
    const { log, env, shards } = this.#o;
    return { log, env, shard: shardOf(actor, shards) };
  }
}

/** Its message may be trimmed at the second look; then the first one is better. */
function keepKnown(found: Map<number, FullTurn>, full: FullTurn): void {
  const { turnNo, source } = full.turn;
  if (source || !found.has(turnNo)) found.set(turnNo, full);
}

const lastOf = (turns: readonly FullTurn[]): number => turns.at(-1)?.turn.turnNo ?? 0;

function summarized(turns: readonly FullTurn[]): TurnSummary[] {
  const writer = new SummaryWriter(openEffects());
  const [first] = turns;
  if (!first) return [];
  const known = writer.actor(first.turn.actor);
  for (const { turn, now } of turns) writer.add(turn, now, known);
  return readSummaries(writer.names, writer.bytes());
}
