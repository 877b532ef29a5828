/** The check of `troupe doctor` on the search of notes. */
import { GRAPH_ROWS_MIN, hnswlibPath } from '../../memory/index.ts';
import { BUILT_IN_PROVIDERS, isBuiltInProvider } from '../../protocols/models/model-providers.ts';
import type { Config } from '../../runtime/config/index.ts';
import { type Finding, ok, warn } from './doctor-finding.ts';

/** Whether the provider of the embedding model has a key. It sends no request. */
export function memorySearch(
  { memory: { search }, models }: Pick<Config, 'memory' | 'models'>,
  env: Readonly<Record<string, string | undefined>>,
): Finding {
  const { model } = search;
  if (model === undefined)
    return ok('memory', 'notes are found by their words; memory.search.model adds meaning');
  const [id = ''] = model.split('/');
  const { apiKey, baseUrl } = models.providers[id] ?? {};
  const needsKey = isBuiltInProvider(id) && baseUrl === undefined && !apiKey;
  const variables = needsKey ? BUILT_IN_PROVIDERS[id].keyVariables : [];
  if (needsKey && !variables.some((name) => env[name]))
    return warn(
      'memory',
      `${id} has no key, so notes are found by their words only`,
      `set ${variables[0]} or models.providers.${id}.apiKey`,
    );
  const vectors =
    hnswlibPath() === undefined
      ? 'all vectors are compared, because hnswlib-node is not installed'
      : `from ${GRAPH_ROWS_MIN} vectors on by a graph of hnswlib-node`;
  return ok('memory', `notes are found by their words and by meaning (${model}); ${vectors}`);
}
