/**
 * TurnSource: what a turn processes, as its handler received it. It is in memory only: the record
 * names its input by reference. History is made of it.
 */
import type { Message } from '../../../protocols/statechart.ts';
import type { Outcome, OutItem } from '../commit/records.ts';
import type { IntentHead } from './intents.ts';

export type TurnSource =
  /** from the mailbox or the stash */
  | { readonly kind: 'message'; readonly item: OutItem }
  | {
      readonly kind: 'outcome';
      readonly id: string;
      readonly attempt: number;
      readonly outcome: Outcome;
      /** absent when it is no longer open */
      readonly intent?: IntentHead;
    }
  /** `name` as in the rows of timers */
  | { readonly kind: 'timer'; readonly name: string }
  /** an outcome or a timer that waited in the stash */
  | { readonly kind: 'event'; readonly event: Message };
