/**
 * The secret values that a process knows: those of the configuration and of all tenants, passwords
 * in addresses, and keys of model providers from the environment.
 */
import { BUILT_IN_PROVIDERS } from '../protocols/models/model-providers.ts';
import { type Config, Secret } from '../runtime/config/index.ts';

export function knownSecrets(config: Config, env: NodeJS.ProcessEnv): readonly string[] {
  const keys = Object.values(BUILT_IN_PROVIDERS)
    .flatMap(({ keyVariables }): readonly string[] => keyVariables)
    .flatMap((name) => env[name] ?? []);
  return [...secretsIn(config), ...keys];
}

/** Every `Secret` and every login of an address inside a value. */
function secretsIn(value: unknown): string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value === 'string') return loginsIn(value);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}

/**
 * `nats://user:password@host`: the password; without a password the user, which is then a token.
 */
function loginsIn(text: string): string[] {
  return [...text.matchAll(/:\/{2,}([^\s/?#]*)@/g)].flatMap(([, login = '']) => {
    const password = login.slice(login.indexOf(':') + 1);
    return [password, decoded(password)];
  });
}

/** Decoded, as a program receives it: `%40` means `@`. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
