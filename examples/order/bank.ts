/** A bank: an external system that keeps running while the shop's computer is down. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TroupeError } from 'troupe';

export class Bank {
  /** all charges, with the shop's reference; a repeated request is a second charge */
  readonly charges: { reference: string; receipt: string }[] = [];
  /** called after a charge, before the shop receives the response */
  onTaken: () => void = () => {};
  /** milliseconds between the charge and the response */
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
