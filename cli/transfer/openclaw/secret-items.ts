/**
 * The secrets of OpenClaw, and the proposal for a configuration file. A secret is copied only with
 * `--with-secrets`, into a file of the data folder that only its owner reads.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import json5 from 'json5';
import { proposalOf } from '../../../installation/openclaw/config-proposal.ts';
import type { FoundBinding } from '../../../installation/openclaw/bindings.ts';
import type { FoundSecret, LeftOut } from '../../../installation/openclaw/found.ts';
import type { OpenClaw } from '../../../installation/openclaw/read.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { writeSecretFile } from '../../../runtime/config/index.ts';
import type { Account } from './account.ts';
import type { Item, Line } from './items.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Several secrets may have one name; all but the first have a number. */
function named(secrets: readonly FoundSecret[]): readonly (readonly [string, FoundSecret])[] {
  const names = new Map<string, number>();
  return secrets.map((secret) => {
    const n = (names.get(secret.env) ?? 0) + 1;
    names.set(secret.env, n);
    return [n === 1 ? secret.env : `${secret.env}_${n}`, secret] as const;
  });
}

/** With `withSecrets` copies; without, lines that say which variable each one may be in. */
export function secretItems(
  { secrets }: OpenClaw,
  home: string,
  withSecrets: boolean,
): { readonly items: readonly Item[]; readonly lines: readonly Line[] } {
  const all = named(secrets);
  if (!withSecrets) {
    const detail = 'not copied: set the variable, or add --with-secrets';
    const lines = all.map(([env, { id }]): Line => {
      return { kind: 'secret', id, target: `env ${env}`, status: 'skipped', detail };
    });
    return { items: [], lines };
  }
  const items = all.map(([env, { id, value }]): Item => {
    const target = fileOf(home, env);
    return {
      kind: 'secret',
      id,
      target,
      // Of a secret, a hash would let others guess it.
      hash: 'secret',
      detail: 'readable by its owner only',
      async write() {
        if (await writeSecretFile(target, value)) return 'imported';
        if (readFileSync(target, 'utf8') === `${value}\n`) return 'exists';
        throw new TroupeError('CONFLICT', `${target} exists with another value`);
      },
    };
  });
  return { items, lines: [] };
}

const fileOf = (home: string, env: string): string => join(home, 'secrets', 'openclaw', env);

/** A key with a line break would end the comment. */
const onOneLine = (key: string): string => key.replaceAll(/[\u0000-\u001f\u2028\u2029]/g, ' ');

const HEAD = `// Proposed by \`troupe import openclaw\` from the configuration of OpenClaw. Nothing reads this file.
// Check it, and merge what you want into troupe.json5 in the data folder.
`;

/**
 * The file of the proposal, which is never replaced after a user has changed it, and the bindings
 * that it contains as rules.
 */
export function proposalItems(
  openclaw: OpenClaw,
  home: string,
  { withSecrets, account }: { readonly withSecrets: boolean; readonly account: Account },
): { readonly items: readonly Item[]; readonly leftOut: readonly LeftOut[] } {
  const known = new Set(named(openclaw.secrets).map(([env]) => env));
  const refer = (env: string) =>
    withSecrets && known.has(env) ? { file: fileOf(home, env) } : { env };
  const { config, leftOut, bindings } = proposalOf(openclaw.config, refer);
  const rest = leftOut.map(({ key, reason }) => `//   ${onOneLine(key)}: ${reason}\n`).join('');
  const list = rest === '' ? '' : `//\n// Not translated:\n${rest}`;
  const body = json5.stringify(config, null, 2);
  const text = `${HEAD}${list}${body}\n`.replaceAll('\u2028', ' ').replaceAll('\u2029', ' ');
  const target = join(home, 'imports', 'openclaw-proposal.json5');
  const item: Item = {
    kind: 'config',
    id: 'openclaw.json',
    target,
    hash: sha256(text),
    detail: `a proposal; ${leftOut.length} settings are not translated`,
    async write() {
      const former = textIn(target);
      const own = account.of('config', 'openclaw.json')?.hash;
      if (former === text) return 'exists';
      if (former !== undefined && sha256(former) !== own)
        throw new TroupeError('CONFLICT', `${target} was changed: move it away for a new one`);
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      writeFileSync(`${target}.new`, text, { mode: 0o600 });
      renameSync(`${target}.new`, target);
      return 'imported';
    },
  };
  const rules = bindings.flatMap((one) => bindingItem(one, () => textIn(target) === text));
  const without = bindings.filter(({ path }) => path === undefined);
  return {
    items: [item, ...rules],
    leftOut: without.map(({ id, note = '' }) => ({ kind: 'binding', id, reason: note })),
  };
}

/** A rule of the proposal, written with it. @param isWritten whether the proposal is there */
function bindingItem(
  { id, agentId, path, note }: FoundBinding,
  isWritten: () => boolean,
): readonly Item[] {
  if (path === undefined) return [];
  const target = `agents.routing.${path.join('.')}`;
  return [
    {
      kind: 'binding',
      id,
      target,
      hash: sha256(JSON.stringify([agentId, path])),
      detail: [`agent ${agentId}, in the proposal`, note].filter(Boolean).join('; '),
      async write() {
        if (isWritten()) return 'imported';
        throw new TroupeError('CONFLICT', `the proposal was changed: write ${target} there`);
      },
    },
  ];
}

function textIn(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
