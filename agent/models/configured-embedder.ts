/**
 * The embedder of a configured model, `provider/model`. One that is wrongly configured fails at its
 * first use, as a model does.
 */
import type { Embedder } from '../../memory/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ModelCatalog } from './catalog.ts';

export function embedderOf(
  catalog: ModelCatalog,
  name: string,
  dimensions: number | undefined,
): Embedder {
  try {
    const { provider, model } = catalog.resolve(name);
    const embedder = provider.embedder?.({ model: model.id, dimensions });
    if (embedder !== undefined) return embedder;
    throw new TroupeError('INVALID_ARGUMENT', `the provider ${provider.id} has no embeddings`);
  } catch (error) {
    return { name, identity: name, embed: () => Promise.reject(error) };
  }
}
