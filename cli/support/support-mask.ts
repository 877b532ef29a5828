/**
 * Removes secrets from the texts of a support bundle: every value that this installation knows,
 * every variable of the environment whose name says that it is secret, and what has the form of a
 * secret. It removes too much rather than too little.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretMask, MASKED } from '../../agent/tools/secret-mask.ts';
import { knownSecrets } from '../../installation/known-secrets.ts';
import type { Config } from '../../runtime/config/index.ts';

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

export function supportMask(config: Config, env: NodeJS.ProcessEnv): (text: string) => string {
  const named = Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) ? [value] : [],
  );
  const values = [...knownSecrets(config, env), ...named, ...secretFiles(config.home)];
  const known = createSecretMask(values);
  return (text) =>
    FORMS.reduce((masked, [form, put]) => masked.replaceAll(form, put), known.text(text));
}

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
