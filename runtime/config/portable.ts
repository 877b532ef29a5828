/**
 * A configuration file for another place: its secrets are references, never values. A value that
 * the file contains becomes a reference to an environment variable.
 */
import { readFileSync } from 'node:fs';
import JSON5 from 'json5';
import { replaceSecrets } from './checks/check.ts';
import { showPointer } from './pointer.ts';
import { loadedSchema } from './schema/schema.ts';
import type { Secret, SecretReference } from './secret.ts';

export type PortableConfig = {
  /** JSON5, without comments */
  readonly text: string;
  /** every secret of the file, and where the text expects it, in words */
  readonly secrets: readonly { readonly path: string; readonly from: string }[];
};

const REMOVED = 'REMOVED-FROM-THE-BACKUP';

/**
 * @param known values that must not be in the text, wherever they are
 * @throws the error of the operating system, or of JSON5
 */
export function portableConfig(file: string, known: readonly string[]): PortableConfig {
  const raw: unknown = JSON5.parse(readFileSync(file, 'utf8'));
  const secrets: { path: string; from: string }[] = [];
  const portable = replaceSecrets(loadedSchema, raw, (value, pointer) => {
    const reference = typeof value === 'string' ? { env: variableOf(pointer) } : value;
    secrets.push({ path: showPointer(pointer), from: inWords(reference as SecretReference) });
    // The caller's result replaces the value as it is.
    return reference as Secret;
  });
  const found = new Set<string>();
  const without = withoutValues(portable, known, '', found);
  for (const path of found) secrets.push({ path, from: `the file: "${REMOVED}" is in its place` });
  return { text: `${JSON.stringify(without, null, 2)}\n`, secrets };
}

const variableOf = (pointer: string): string =>
  `TROUPE_SECRET${pointer.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`;

function inWords(reference: SecretReference): string {
  if (typeof reference === 'string') return 'the file';
  if ('env' in reference) return `the environment variable ${reference.env}`;
  if ('file' in reference) return `the file ${reference.file}`;
  return `the command ${reference.command[0] ?? ''}`;
}

/** Also in texts that the schema does not know as secrets, for example logins in addresses. */
function withoutValues(
  value: unknown,
  known: readonly string[],
  pointer: string,
  found: Set<string>,
): unknown {
  if (typeof value === 'string') {
    if (withoutCredentials(value) !== value) {
      found.add(showPointer(pointer));
      return withoutValues(withoutCredentials(value), known, pointer, found);
    }
    const values = known.filter((each) => each.length >= 4 && value.includes(each));
    if (values.length > 0) found.add(showPointer(pointer));
    return values.reduce((text, each) => text.replaceAll(each, REMOVED), value);
  }
  if (Array.isArray(value))
    return value.map((each, i) => {
      const isValue = typeof each === 'string' && isCredentialOption(value[i - 1]);
      if (isValue) found.add(showPointer(`${pointer}/${i}`));
      return isValue ? REMOVED : withoutValues(each, known, `${pointer}/${i}`, found);
    });
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      withoutValues(each, known, `${pointer}/${key}`, found),
    ]),
  );
}

const CREDENTIAL =
  '(?:[\\w.-]*[_.-])?(?:api-?key|access-?key|key|token|secret|password|passwd|pass|sig|signature|apikey|accesstoken)';
/** `?api_key=…` in an address, and `--token=…` or `TOKEN=…` in the argument of a command. */
const IN_TEXT = new RegExp(`((?:[?&#;]|^-{0,2})${CREDENTIAL}=)([^&#\\s]+)`, 'gi');
const OPTION = new RegExp(`^--?${CREDENTIAL}$`, 'i');

/** The schema does not know them as secrets: their names are all that tells. */
const withoutCredentials = (text: string): string =>
  text.replaceAll(IN_TEXT, (_, name: string) => name + REMOVED);

/** `--token`, whose value is the next argument. */
const isCredentialOption = (text: unknown): boolean =>
  typeof text === 'string' && OPTION.test(text);
