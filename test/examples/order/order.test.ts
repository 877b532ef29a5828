import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Bank } from '../../../examples/order/bank.ts';
import { order } from '../../../examples/order/order.ts';
import { address } from '../../../protocols/address.ts';
import { createSystem, openEmbedded, type System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';

const actor = address('default', 'order', '4711');
let path: string;
let bank: Bank;
let system: System;

const open = async () => {
  system = await createSystem({
    ...(await openEmbedded({ path })),
    actors: [order],
    services: bank,
    shards: 2,
  });
};
const place = (cents: number) =>
  system.ask(
    actor,
    { type: 'order.place', cents },
    { principal: { sub: 'ada', roles: [] }, key: 'cart-1', timeoutMs: 20_000 },
  );

beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'troupe-order-'));
  bank = new Bank();
  await open();
});
afterEach(async () => {
  await system.stop();
  rmSync(path, { recursive: true, force: true });
});

it('answers when the order is shipped, and charges once however often it is sent', async () => {
  const [first, second] = await Promise.all([place(4_999), place(4_999)]);
  expect(first).toEqual({ kind: 'answered', result: { receipt: 'receipt-1' } });
  expect(second).toEqual(first);
  expect(await place(4_999)).toEqual(first);
  expect(bank.charges).toHaveLength(1);
  expect(system.inspect(actor)).toMatchObject({ value: 'shipped' });
});

it('does not charge again after a restart between the payment and its receipt', async () => {
  bank.answerMs = 60_000;
  const taken = new Promise<void>((resolve) => (bank.onTaken = resolve));
  void place(4_999);
  await taken;
  await system.stop();
  await open();
  expect(await place(4_999)).toEqual({ kind: 'answered', result: { receipt: 'receipt-1' } });
  expect(bank.charges).toHaveLength(1);
});

it('continues packing after a restart', async () => {
  void place(4_999);
  await eventually(() => expect(system.inspect(actor)?.value).toBe('packing'));
  await system.stop();
  await open();
  expect(await place(4_999)).toEqual({ kind: 'answered', result: { receipt: 'receipt-1' } });
  expect(bank.charges).toHaveLength(1);
});

it('returns the reason why the bank declined, also after a restart', async () => {
  const declined = {
    kind: 'refused',
    error: { code: 'FORBIDDEN', message: 'the limit of the card is 100.00' },
  };
  expect(await place(10_001)).toEqual(declined);
  await system.stop();
  await open();
  expect(await place(10_001)).toEqual(declined);
  expect(bank.charges).toHaveLength(0);
});

it('runs as its README says', () => {
  const said = execFileSync(process.execPath, ['tools/run.mjs', 'examples/order/main.ts'], {
    encoding: 'utf8',
  });
  expect(said.trim().split('\n').slice(-2)).toEqual([
    'the order: {"kind":"answered","result":{"receipt":"receipt-1"}}',
    'times the customer was charged: 1',
  ]);
});
