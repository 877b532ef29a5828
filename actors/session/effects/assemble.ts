/** assemble: puts the prompt of a run together (AL5). */
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import type { AssembleInput, AssembleOutput } from '../types.ts';

export const assemble: EffectDefinition<AssembleInput, AssembleOutput> = {
  class: 'repeatable',
  workspace: 'discard',
  run: () => Promise.reject(new TroupeError('UNAVAILABLE', 'the prompt can not be made yet')),
};
