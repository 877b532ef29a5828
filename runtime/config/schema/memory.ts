/** Section `memory`: how the notes of agents are found. */
import { Type } from '@sinclair/typebox';
import { section } from './fields.ts';

const share = (value: number, description: string) =>
  Type.Number({ minimum: 0, maximum: 1, default: value, description });

export const memorySection = section('the notes of agents', {
  search: section('the tool memory_search', {
    model: Type.Optional(
      Type.String({
        pattern: '^[^/\\s]+/\\S+$',
        'x-allowed': '`<provider>/<model>`',
        description:
          'the model that makes vectors of notes, as `openai/text-embedding-3-small`, so that they are found by meaning, ' +
          'too; its provider has the key and address. Default: notes are found by their words',
      }),
    ),
    dimensions: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 4_096,
        description: 'components of a vector, for models that can shorten it. Default: all',
      }),
    ),
    textWeight: share(0.5, 'weight of the ranking by words'),
    vectorWeight: share(0.5, 'weight of the ranking by meaning'),
    maxResults: Type.Integer({
      minimum: 1,
      maximum: 20,
      default: 6,
      description: 'results of a search that names no number',
    }),
    minScore: share(
      0.1,
      'results whose scores by words and by meaning are both lower are left out, unless the search says otherwise',
    ),
    sessions: Type.Boolean({
      default: false,
      description:
        'also find messages of the agent’s sessions, with `model` also by their meaning, as far as `sessions_history` shows them, with `corpus` `all` or `sessions`',
    }),
    mmr: section('results that are unlike each other', {
      enabled: Type.Boolean({ default: false, description: 'prefer them' }),
      lambda: share(0.7, '1: by score alone; 0: by difference alone'),
    }),
    decay: section('newer notes first', {
      enabled: Type.Boolean({
        default: false,
        description: 'the score of `memory/YYYY-MM-DD.md` decreases with its age',
      }),
      halfLifeDays: Type.Number({
        minimum: 1,
        maximum: 36_500,
        default: 30,
        description: 'days after which half of the score is left',
      }),
    }),
  }),
});
