/** The section `runtime.history`: what is kept of the turns of actors, and for how long. */
import { Type } from '@sinclair/typebox';
import { HISTORY_BOUNDS, HISTORY_KEPT } from '../../history/policy.ts';
import { oneOf, record, section } from './fields.ts';

const [turnsMin, turnsMax] = HISTORY_BOUNDS.turns;
const [daysMin, daysMax] = HISTORY_BOUNDS.days;

const policy = record('history of one actor type; what is left out is as the type defines it', {
  keep: Type.Optional(
    oneOf(HISTORY_KEPT, {
      description:
        'nothing, a summary of each turn, or also bodies, which replay and forks of a session need',
    }),
  ),
  turns: Type.Optional(
    Type.Integer({
      minimum: turnsMin,
      maximum: turnsMax,
      description: 'newest turns of one actor that are kept; default 1000',
    }),
  ),
  days: Type.Optional(
    Type.Integer({
      minimum: daysMin,
      maximum: daysMax,
      description: 'age after which a turn is forgotten; default 30, of sessions 7',
    }),
  ),
});

export const historySection = section('what is kept of the turns of actors', {
  bytesMax: Type.Integer({
    minimum: 2 ** 20,
    maximum: 2 ** 50,
    default: 2 ** 30,
    description: 'bytes of all history; each shard removes its oldest when it exceeds its part',
  }),
  types: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }), policy, {
    default: {},
    additionalProperties: false,
    description:
      'by actor type, as `session`. Default: summaries of 1,000 turns for 30 days; of sessions all for 7 days',
  }),
});
