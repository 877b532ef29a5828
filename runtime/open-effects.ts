/** OpenEffects: what operators decide about effects that have no outcome yet. */
import type { ErrorData } from '../protocols/errors.ts';
import type { MessageClient } from './message-client.ts';
import { listUnknown, openIntent } from './reads.ts';
import { CANCELLED_BY_OPERATOR } from './shard/turn/intents.ts';
import type { ReadableState } from './state/checked-reads.ts';
import { unfitValue } from './statechart/values.ts';
import type { Decision, System, TellAnswer } from './system.ts';

export class OpenEffects {
  readonly #state: ReadableState;
  readonly #shards: number;
  readonly #client: Pick<MessageClient, 'report'>;

  constructor(state: ReadableState, shards: number, client: Pick<MessageClient, 'report'>) {
    this.#state = state;
    this.#shards = shards;
    this.#client = client;
  }

  readonly unknown: System['unknownEffects'] = () => listUnknown(this.#state, this.#shards);

  readonly decide: System['decide'] = async (id, decision) => {
    const unfit = unfitValue(decision, 'the decision');
    if (unfit) return refused('INVALID_ARGUMENT', `${unfit}, which cannot be stored`);
    if (!isDecision(decision))
      return refused(
        'INVALID_ARGUMENT',
        "a decision is { kind: 'again' }, { kind: 'done', output } or { kind: 'failed', error: { code, message } }",
      );
    const intent = openIntent(this.#state, this.#shards, id);
    if (intent?.state !== 'unknown')
      return refused(
        'NOT_FOUND',
        `no effect with the id ${id} is unknown; it may have been decided already`,
      );
    await this.#client.report(intent.actor, id, intent.attempt, decision);
    return { kind: 'accepted', id };
  };

  readonly cancel: System['cancelEffect'] = async (id, why) => {
    const intent = openIntent(this.#state, this.#shards, id);
    if (!intent)
      return refused('NOT_FOUND', `no effect with the id ${id} is open; it may have ended already`);
    const error: ErrorData = {
      code: 'CANCELLED',
      message: `an operator cancelled '${intent.src}': ${why}`,
      details: { reason: CANCELLED_BY_OPERATOR },
    };
    await this.#client.report(intent.actor, id, intent.attempt, { kind: 'failed', error });
    return { kind: 'accepted', id };
  };
}

/** Of a program in JavaScript: anything else would be stored as a failure without an error. */
const isDecision = (decision: Decision | undefined): boolean =>
  decision?.kind === 'again' ||
  decision?.kind === 'done' ||
  (decision?.kind === 'failed' && typeof decision.error?.code === 'string');

const refused = (code: ErrorData['code'], message: string): TellAnswer => ({
  kind: 'refused',
  error: { code, message },
});
