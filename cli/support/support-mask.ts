/**
 * Removes secrets from the texts of a support bundle: every value that this installation knows,
 * every variable of the environment whose name says that it is secret, and what has the form of a
 * secret. It removes too much rather than too little.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import JSON5 from 'json5';
import { createSecretMask, MASKED } from '../../agent/tools/secret-mask.ts';
import { knownSecrets } from '../../installation/known-secrets.ts';
import { configFileName } from '../../runtime/config/index.ts';
import type { SupportInput } from './support-parts.ts';

const SECRET_NAME = /key|token|secret|pass|credential|auth|dsn|cookie|seed/i;

/** Form of a secret, and what stays of it. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  // in addresses: a login, and every parameter
  [/(:\/\/)[^\s/@"']+@/g, `$1${MASKED}@`],
  [/([?&#][\w.-]+=)[^&\s"'#]+/g, `$1${MASKED}`],
  // headers, options, assignments
  [/\b(bearer|basic|digest)\s+[\w+/=.~-]{6,}/gi, `$1 ${MASKED}`],
  [
    /((?:key|token|secret|passw(?:or)?d|credentials?)["']?\s*[=:]\s*["']?)[^\s"',;}]{4,}/gi,
    `$1${MASKED}`,
  ],
  // keys of providers, tokens of services, JWT, PEM
  [/\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|xapp|AKIA|AIza)[-_]?[\w-]{12,}/g, MASKED],
  [/\b\d{6,12}:[\w-]{30,}\b/g, MASKED],
  [/\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*/g, MASKED],
  [/-----BEGIN [^-]+-----[^]*?(?:-----END [^-]+-----|$)/g, MASKED],
  [/\b[0-9a-f]{32,}\b/gi, MASKED],
];

export function supportMask(
  { loaded: { config }, options, invalid }: SupportInput,
  env: NodeJS.ProcessEnv,
): (text: string) => string {
  const named = Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) ? [value] : [],
  );
  const file = options.config || env['TROUPE_CONFIG'] || join(config.home, configFileName);
  const values = [
    ...knownSecrets(config, env),
    ...named,
    ...secretFiles(config.home),
    ...(invalid ? possibleSecrets(file) : []),
  ];
  const known = createSecretMask(values);
  return (text) =>
    FORMS.reduce((masked, [form, put]) => masked.replaceAll(form, put), known.text(text));
}

/**
 * Of a file that is invalid, so that nothing says which of its values are secrets: those whose key
 * sounds so, and long words. A file that is no JSON5 has none, because its problem quotes no value.
 */
function possibleSecrets(file: string): readonly string[] {
  const found: string[] = [];
  const add = (key: string, value: unknown): unknown => {
    const isLong = (text: string) => text.length >= LONG_CHARACTERS && !/[\s/]/.test(text);
    if (typeof value === 'string' && (SECRET_NAME.test(key) || isLong(value))) found.push(value);
    return value;
  };
  try {
    JSON5.parse(readFileSync(file, 'utf8'), add);
  } catch {
    return [];
  }
  return found;
}
const LONG_CHARACTERS = 12;

/** Files of the data folder that contain one secret each. */
function secretFiles(home: string): readonly string[] {
  const read = (path: string): readonly string[] => {
    try {
      return [readFileSync(path, 'utf8').trim()];
    } catch {
      return [];
    }
  };
  const inFolder = (name: string): readonly string[] => {
    try {
      return readdirSync(join(home, name)).flatMap((file) => read(join(home, name, file)));
    } catch {
      return [];
    }
  };
  return [...read(join(home, 'token')), ...inFolder('device-tokens'), ...inFolder('a2a')];
}
