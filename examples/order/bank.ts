/** A bank, as the shop sees it: another company, up while the shop's computer is not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from '../../protocols/index.ts';

export class Bank {
  /** every charge there was, with the reference that the shop gave; twice is twice */
  readonly charges: { reference: string; receipt: string }[] = [];
  /** called when the money is taken, before the shop hears of it */
  onTaken: () => void = () => {};
  /** milliseconds between taking the money and saying so */
  answerMs = 0;

  /** @throws TroupeError FORBIDDEN above 10,000 cents */
  async charge(reference: string, cents: number): Promise<string> {
    if (cents > 10_000) throw new TroupeError('FORBIDDEN', 'the limit of the card is 100.00');
    const receipt = `receipt-${this.charges.length + 1}`;
    this.charges.push({ reference, receipt });
    this.onTaken();
    await sleep(this.answerMs, undefined, { ref: false });
    return receipt;
  }

  receiptOf(reference: string): string | undefined {
    return this.charges.find((charge) => charge.reference === reference)?.receipt;
  }
}
