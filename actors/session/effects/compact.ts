/** compact: shortens the context of a session (AL8). */
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import type { CompactInput, CompactOutput } from '../types.ts';

export const compact: EffectDefinition<CompactInput, CompactOutput> = {
  class: 'keyed',
  run: () => Promise.reject(new TroupeError('UNAVAILABLE', 'nothing can be compacted yet')),
};
