/**
 * What a test of faults shows while it runs, on stderr: a line for each phase and each fault, and
 * at a terminal one more with the counts, which is rewritten.
 */
import { spreadOf } from '../../../loadtest/faults/document.ts';
import type { ShowFaults } from '../../../loadtest/faults/run.ts';
import { startProgress } from '../../progress.ts';

export function faultsProgress(): ShowFaults & { readonly end: () => void } {
  const { show, note, end } = startProgress();
  return {
    phase(text) {
      note(text);
      show(text);
    },
    glance: ({ sent, ended }) => show(`${sent} sent, ${ended} ended`),
    begun: (number, what) => note(`fault ${number}: ${what}`),
    recovered(number, { recoveriesMs }, affected) {
      const times = spreadOf(recoveriesMs, `of ${affected} sessions`);
      const text = affected === 0 ? 'it had no sessions' : times || 'no session answered';
      note(`fault ${number}: answers after, ms: ${text}`);
    },
    end,
  };
}
