/**
 * OutcomeQueue: outcomes of effects that ran in the process of their shard's owner. Such an outcome
 * needs no mailbox entry: the record of its turn contains it (G6).
 *
 * Invariants:
 *  - an outcome is accepted when the record of its turn counts, and not before. An owner that ends
 *    rejects the others; their runner reports them again, and E4 drops the copies (A4);
 *  - an outcome has its turn after the messages that were in the mailbox when it was reported, as
 *    if it were stored behind them;
 *  - bounded by the number of effects that run at once: each waits here until it is accepted (I8).
 */
import { TroupeError } from '../../../protocols/errors.ts';
import type { Position } from '../../log/log.ts';
import type { MailEntry } from '../commit/records.ts';

/** What the runner of an effect reports. */
export type OutcomeReport = Pick<
  Extract<MailEntry, { kind: 'outcome' }>,
  'intent' | 'attempt' | 'outcome'
>;

/** The name of such an input. Position 0 has no mailbox entry, also for older versions. */
export const inputOfReport = ({ attempt, intent }: Omit<OutcomeReport, 'outcome'>): string =>
  `o0.${attempt}.${intent}`;

/** @param input as `inputOfReport` makes it */
export function reportOfInput(input: string): Omit<OutcomeReport, 'outcome'> {
  const [, attempt, ...intent] = input.split('.');
  return { attempt: Number(attempt), intent: intent.join('.') };
}

type Waiting = {
  readonly report: OutcomeReport;
  readonly behind: Position;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
};

export class OutcomeQueue {
  /** those that have no turn yet */
  #waiting: Waiting[] = [];
  /** those that are not accepted yet */
  readonly #open = new Set<Waiting>();
  #isClosed = false;

  /**
   * Resolves when the outcome is accepted; rejects when the owner ends before.
   * @param behind position of the last data message in the mailbox
   */
  add(report: OutcomeReport, behind: Position): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(ended());
      const waiting = { report, behind, resolve, reject };
      this.#open.add(waiting);
      this.#waiting.push(waiting);
    });
  }

  /**
   * The next one, and what to call when its record counts.
   * @param mailFloor position up to which data messages have had their turns
   */
  take(
    mailFloor: Position,
  ): { readonly report: OutcomeReport; readonly onCounts: () => void } | undefined {
    const next = this.#waiting[0];
    if (next === undefined || next.behind > mailFloor) return undefined;
    this.#waiting.shift();
    const onCounts = () => {
      if (this.#open.delete(next)) next.resolve();
    };
    return { report: next.report, onCounts };
  }

  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#open) reject(ended());
    this.#open.clear();
    this.#waiting = [];
  }
}

const ended = () => new TroupeError('UNAVAILABLE', 'the owner of the shard has ended');
