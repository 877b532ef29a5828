/**
 * Run it with `node tools/run.mjs examples/testing/main.ts`: the simulation finds a mistake in each
 * of three programs, and none in the corrected ones.
 */
import { bill, checkBill, mistakenBill } from './double-charge.ts';
import { checkWorker, mistakenWorker, worker } from './endless-delegation.ts';
import { checkExpense, expense, mistakenExpense } from './lost-approval.ts';

const print = () => {};
/** 30 runs do not always find the rarest of these mistakes */
const given = { runs: 300 };
const enough = { runs: 30, print };
for (const [mistaken, corrected] of [
  [await checkBill(mistakenBill, given), await checkBill(bill, enough)],
  [await checkExpense(mistakenExpense, given), await checkExpense(expense, enough)],
  [await checkWorker(mistakenWorker, given), await checkWorker(worker, enough)],
] as const) {
  const { failure } = mistaken;
  console.log(
    `found in run ${mistaken.runs}: ${failure?.rule}, in ${failure?.messages.length} messages`,
  );
  console.log(
    `corrected: ${corrected.ok ? `${corrected.runs} runs, no mistake` : corrected.failure?.text}`,
  );
}
