/**
 * Run it with `node tools/run.mjs examples/order/main.ts`: a customer places an order. The shop's
 * computer is switched off during the payment and starts again, and the order continues.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { address, createSystem, openEmbedded, type System } from 'troupe';
import { Bank } from './bank.ts';
import { order } from './order.ts';

const path = mkdtempSync(join(tmpdir(), 'troupe-order-'));
const bank = new Bank();
const open = async (): Promise<System> =>
  createSystem({ ...(await openEmbedded({ path })), actors: [order], services: bank });

// Both requests have the same key, so the repeat waits for the first answer.
const place = (system: System) =>
  system.ask(
    address('default', 'order', '4711'),
    { type: 'order.place', cents: 4_999 },
    { principal: { sub: 'ada', roles: ['customer'] }, key: 'cart-1', timeoutMs: 10_000 },
  );

try {
  const beforeOutage = await open();
  bank.answerMs = 60_000;
  const moneyTaken = new Promise<void>((resolve) => (bank.onTaken = resolve));
  void place(beforeOutage);
  await moneyTaken;
  console.log('the bank has charged, the shop has no response yet; the power fails');
  await beforeOutage.stop();

  const afterOutage = await open();
  console.log('the shop is back; the customer asks again');
  const answer = await place(afterOutage);
  console.log('the order:', JSON.stringify(answer));
  console.log('times the customer was charged:', bank.charges.length);
  await afterOutage.stop();
} finally {
  rmSync(path, { recursive: true, force: true });
}
