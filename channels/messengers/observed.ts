/** Observed: counts of one account in this process, reported to its actor once a second. */
import type { AdmissionRule, ChannelObserved } from '../../protocols/channel.ts';
import type { Clock } from '../../runtime/index.ts';

const REPORT_MS = 1_000;

type Counts = Omit<ChannelObserved, 'type' | 'refused'> & {
  readonly refused: Partial<Record<AdmissionRule, number>>;
};

export class Observed {
  readonly #clock: Clock;
  readonly #report: (observed: ChannelObserved) => void;
  #counts: Counts | undefined;

  constructor(clock: Clock, report: (observed: ChannelObserved) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  inbound(): void {
    this.#add(({ inbound }) => ({ inbound: inbound + 1, lastInboundAt: this.#clock.wallMs() }));
  }

  outbound(): void {
    this.#add(({ outbound }) => ({ outbound: outbound + 1, lastOutboundAt: this.#clock.wallMs() }));
  }

  refused(rule: AdmissionRule): void {
    this.#add(({ refused }) => ({ refused: { ...refused, [rule]: (refused[rule] ?? 0) + 1 } }));
  }

  error(lastError: string): void {
    this.#add(() => ({ lastError }));
  }

  #add(change: (counts: Counts) => Partial<Counts>): void {
    if (this.#counts === undefined) this.#clock.after(REPORT_MS, () => this.#flush());
    const counts = this.#counts ?? { inbound: 0, outbound: 0, refused: {} };
    this.#counts = { ...counts, ...change(counts) };
  }

  #flush(): void {
    const counts = this.#counts!;
    this.#counts = undefined;
    this.#report({ type: 'channel.observed', ...counts });
  }
}
