/**
 * The check of `troupe doctor` on models that could be added, while the configuration names none.
 */
import type { Config } from '../../runtime/config/index.ts';
import { findModels, namesNoModel } from '../found-models.ts';
import { type Finding, ok } from './doctor-finding.ts';

const CHECK = 'models found';

export async function foundModels(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Finding[]> {
  if (!namesNoModel(config)) return [];
  const found = await findModels(env);
  if (found.length === 0)
    return [ok(CHECK, 'no key in the environment, and no local model server')];
  return found.map(({ text, command }) => ok(CHECK, text, command));
}
