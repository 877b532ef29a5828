/**
 * The process of one repeat. The runner starts it from the same bundle; it sends its figures, or
 * the reason why it has none, over a message channel.
 */
import { errorData } from '../../protocols/errors.ts';
import { repeatOf, type Scale, type Scenario } from './scenario.ts';

export type WorkerAnswer =
  | { readonly kind: 'measured'; readonly figures: Readonly<Record<string, number | undefined>> }
  | { readonly kind: 'failed'; readonly why: string };

/** Runs one repeat, reports to the runner and exits, whatever the scenario left open. */
export async function work(scenario: Scenario, scale: Scale, folder: string): Promise<never> {
  let answer: WorkerAnswer;
  try {
    answer = { kind: 'measured', figures: await scenario.measure(repeatOf(scale, folder)) };
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : errorData(error).message;
    answer = { kind: 'failed', why };
  }
  if (process.send) await new Promise((sent) => process.send?.(answer, undefined, {}, sent));
  else console.log(JSON.stringify(answer));
  process.exit(answer.kind === 'measured' ? 0 : 1);
}
