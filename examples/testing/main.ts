/**
 * Run it with `node tools/run.mjs examples/testing/main.ts`: the simulation finds a mistake in each
 * of three programs, and none in the corrected ones.
 */
import { bill, checkBill, mistakenBill } from './double-charge.ts';
import { checkWorker, mistakenWorker, worker } from './endless-delegation.ts';
import { checkExpense, expense, mistakenExpense } from './lost-approval.ts';

const print = () => {};
const runs = 30;
for (const [mistaken, corrected] of [
  [await checkBill(mistakenBill, { runs }), await checkBill(bill, { runs, print })],
  [await checkExpense(mistakenExpense, { runs }), await checkExpense(expense, { runs, print })],
  [await checkWorker(mistakenWorker, { runs }), await checkWorker(worker, { runs, print })],
] as const) {
  const { failure } = mistaken;
  console.log(
    `found in run ${mistaken.runs}: ${failure?.rule}, in ${failure?.messages.length} messages`,
  );
  console.log(
    `corrected: ${corrected.ok ? `${corrected.runs} runs, no mistake` : corrected.failure?.text}`,
  );
}
