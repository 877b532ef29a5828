/**
 * The secret values that a process knows: those of its configuration, of all tenants, and the keys
 * of model providers that come from the environment.
 */
import { builtInKeyVariables } from '../actors/agent/models/catalog.ts';
import { type Config, Secret } from '../runtime/config/index.ts';

export function knownSecrets(config: Config, env: NodeJS.ProcessEnv): readonly string[] {
  const keys = builtInKeyVariables.flatMap((name) => env[name] ?? []);
  return [...secretsIn(config), ...keys];
}

/** Every `Secret` below a value. */
function secretsIn(value: unknown): string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}
