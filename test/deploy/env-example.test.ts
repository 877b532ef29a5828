/** `.env.example` has exactly the variables that the compose files read, with their defaults. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../tools/install.mjs';

const composeFiles = ['docker-compose.yml', 'deploy/gateways.yml', 'deploy/sandbox.yml'];

/** Variables of compose and their defaults; undefined for those that are only passed on. */
function variablesRead(): Map<string, string | undefined> {
  const text = composeFiles.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const code = text.replaceAll(/^\s*#.*$/gm, '');
  const used = [...code.matchAll(/(?<!\$)\$\{(\w+)(?::-([^}]*))?\}/g)];
  const passedOn = [...code.matchAll(/^ +([A-Z][A-Z_]+):$/gm)];
  return new Map([
    ...used.map(([, name, value]) => [name!, value ?? ''] as const),
    ...passedOn.map(([, name]) => [name!, undefined] as const),
  ]);
}

it('has every variable, and no other', () => {
  const text = readFileSync(join(root, '.env.example'), 'utf8');
  const lines = [...text.matchAll(/^(# )?([A-Z][A-Z_]*)=(.*)$/gm)];
  const written = new Map(
    lines.map(([, off, name, value]) => [name!, off === undefined ? value! : undefined]),
  );
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(variablesRead()));
  expect(written.size).toBeGreaterThan(8);
});

it('an own .env is neither committed nor sent to the build of the image', () => {
  for (const file of ['.gitignore', '.dockerignore'])
    expect(readFileSync(join(root, file), 'utf8').split('\n')).toContain('.env');
});
