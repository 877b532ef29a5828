/** Secrets of OpenClaw: where they are and which environment variable may hold them. */
import { type Fields, fieldsOf, type Findings, textOf } from './found.ts';

const ENVIRONMENT: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'ANTHROPIC_API_KEY'],
  ['openai', 'OPENAI_API_KEY'],
  ['google', 'GEMINI_API_KEY'],
]);

/** The name of an environment variable, from the words of a path. */
export const environmentName = (words: string): string =>
  words
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();

/** The variable that holds the key of a provider. */
export const keyVariable = (provider: string): string =>
  ENVIRONMENT.get(provider) ?? `${environmentName(provider)}_API_KEY`;

/** API keys of providers. Logins (OAuth) belong to one program at a time. */
export function addAuthProfiles(store: Fields, agentId: string, found: Findings): void {
  for (const [name, value] of Object.entries(fieldsOf(store['profiles']))) {
    const profile = fieldsOf(value);
    const id = `${agentId}/${name}`;
    const provider = textOf(profile['provider']) ?? name.split(':')[0] ?? name;
    const key = textOf(profile['key']) ?? textOf(profile['token']);
    if (key !== undefined)
      found.secrets.push({ id, provider, env: keyVariable(provider), value: key });
    else if (profile['keyRef'] === undefined && profile['tokenRef'] === undefined)
      found.leftOut.push({ kind: 'secret', id, reason: 'a login, not a key: use an API key' });
    else found.leftOut.push({ kind: 'secret', id, reason: 'a reference to another store' });
  }
}

const SECRET = /(token|apikey|password|secret|credential)$/i;

/** Secrets written into the configuration, by their JSON path, as `channels.telegram.botToken`. */
export function secretsIn(value: unknown, path: readonly string[] = []): readonly SecretInFile[] {
  if (typeof value === 'string') {
    const isSecret = SECRET.test(path.at(-1) ?? '') && value !== '' && !value.startsWith('${');
    return isSecret ? [{ path, value }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) => secretsIn(below, [...path, name]));
}
export type SecretInFile = { readonly path: readonly string[]; readonly value: string };
