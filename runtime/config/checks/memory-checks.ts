/** The settings of memory_search that must agree with others. */
import {
  BUILT_IN_PROVIDERS,
  isBuiltInProvider,
} from '../../../protocols/models/model-providers.ts';
import type { Config } from '../schema/schema.ts';
import type { Finding } from './check.ts';

/** The provider exists, its API has embeddings, and one of both rankings counts. */
export function memorySearchStands({ memory: { search }, models }: Config): Finding[] {
  const { model, dimensions, textWeight, vectorWeight } = search;
  const findings: Finding[] = [];
  const at = (key: string, message: string) =>
    findings.push({ pointer: `/memory/search/${key}`, message });
  const [id = ''] = model?.split('/') ?? [];
  const provider = Object.hasOwn(models.providers, id) ? models.providers[id] : undefined;
  if (model !== undefined && provider === undefined && !isBuiltInProvider(id))
    at('model', `there is no provider ${id}: add models.providers.${id}`);
  const api = provider?.api ?? (isBuiltInProvider(id) ? BUILT_IN_PROVIDERS[id].api : undefined);
  if (api === 'anthropic-messages') at('model', 'the API of this provider has no embeddings');
  if (model === undefined && dimensions !== undefined)
    at('dimensions', 'needs memory.search.model');
  if (textWeight + vectorWeight === 0) at('textWeight', 'is 0, and vectorWeight, too');
  return findings;
}
