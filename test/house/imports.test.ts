import { builtinModules } from 'node:module';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { cycleFindings } from './cycles.ts';
import { importFindings, importsOf } from './imports.ts';
import { complaints, sources } from './sources.ts';

const refused = (path: string, text: string): number[] =>
  importFindings(new Map([[path, text]])).map((finding) => finding.line);

describe('the import rules', () => {
  test('hold for every file of this repository', () => {
    const files = sources(['.ts', '.tsx']);
    expect(files.size).toBeGreaterThan(10);
    expect(complaints(importFindings(files))).toEqual([]);
  });

  test.each([
    ['protocols/a.ts', `import { x } from '../runtime/index.ts';`],
    ['protocols/a.ts', `import { readFileSync } from 'node:fs';`],
    ['memory/a.ts', `import type { System } from '../runtime/index.ts';`],
    ['runtime/a.ts', `import { x } from '../actors/index.ts';`],
    ['runtime/log/log.ts', `import { open } from 'lmdb';`],
    ['channels/a.ts', `import { connect } from '@nats-io/transport-node';`],
    ['actors/agent/a.ts', `import { x } from '../../runtime/shard/turn/turn.ts';`],
    ['actors/agent/a.ts', `import type { System } from '../../runtime/system.ts';`],
    ['actors/agent/a.ts', `import { x } from '../../memory/text.ts';`],
    ['actors/agent/machine.ts', `import { x } from '../../runtime/index.ts';`],
    ['actors/agent/machine.ts', `import { x } from './effects/call.ts';`],
    ['actors/agent/machine.ts', `import { x } from '../session/effects/call-model.ts';`],
    ['actors/agent/machine.ts', `import type { X } from '../../runtime/system.ts';`],
    ['actors/agent/machine.ts', `import { randomUUID } from 'node:crypto';`],
    ['channels/gateway/a.ts', `import { x } from '../../actors/index.ts';`],
    ['channels/gateway/a.ts', `const x = await import('../../memory/index.ts');`],
    ['channels/gateway/a.ts', `export * from '../../cli/main.ts';`],
    ['cli/a.ts', `import { x } from '../bench/main.ts';`],
    ['main.ts', `import './test/a.ts';`],
    ['web/a.tsx', `import { x } from '../protocols/frames.ts';`],
    ['web/a.tsx', `import type { X } from '../runtime/index.ts';`],
    ['web/a.tsx', `import { x } from '../client/operator-client.ts';`],
    ['web/a.tsx', `import { x } from 'node:crypto';`],
    ['client/a.ts', `import { x } from '../runtime/index.ts';`],
    ['client/a.ts', `import { WebSocket } from 'ws';`],
    ['client/a.ts', `import type { X } from '../cli/options.ts';`],
    ['runtime/a.ts', `import { x } from '../client/gateway-client.ts';`],
    ['stray/a.ts', `import { x } from '../protocols/errors.ts';`],
  ])('refuses, planted in %s: %s', (path, text) => {
    expect(refused(path, text)).toEqual([1]);
  });

  test.each([
    ['runtime/log/log-lmdb.ts', `import { open } from 'lmdb';`],
    ['actors/agent/a.ts', `import { x } from '../../runtime/config/index.ts';`],
    ['actors/agent/machine.ts', `import type { X } from './types.ts';`],
    ['actors/agent/machine.ts', `import { x } from '../supervisor/strategy.ts';`],
    ['actors/agent/machine.ts', `import { setup } from 'xstate';`],
    ['web/a.tsx', `import type { X } from '../protocols/frames.ts';`],
    ['web/a.tsx', `import { GatewayClient } from '../client/gateway-client.ts';`],
    ['client/operator-client.ts', `import { WebSocket } from 'ws';`],
    ['protocols/a.ts', `export const parts = (text: string) => text.split('../runtime/a.ts');`],
    ['test/a.test.ts', `import { x } from '../runtime/shard/turn/turn.ts';`],
  ])('allows, in %s: %s', (path, text) => {
    expect(refused(path, text)).toEqual([]);
  });

  test('refuse an import that a machine would reach through a file beside it', () => {
    const files = new Map([
      ['actors/a/machine.ts', `import { x } from './slots.ts';`],
      ['actors/a/slots.ts', `import { y } from '../b/words.ts';`],
      ['actors/b/words.ts', `import { randomUUID } from 'node:crypto';`],
      ['actors/b/other.ts', `import { randomUUID } from 'node:crypto';`],
    ]);
    expect(importFindings(files).map(({ path }) => path)).toEqual(['actors/b/words.ts']);
  });

  test('names the line of an import that spans several', () => {
    const text = `/** head */\nimport {\n  a,\n  b,\n} from '../runtime/index.ts';\n`;
    expect(refused('protocols/a.ts', text)).toEqual([2]);
  });
});

describe('packages', () => {
  /** No part of the product: what they import may be missing where it is built and runs. */
  const others = /^(test|bench|examples|tools|docs)\/|\.config\.ts$/;
  const nameOf = (target: string): string =>
    /^package:((?:@[^/]+\/)?[^/]+)/.exec(target)?.[1] ?? target;

  test('that the product imports are dependencies', () => {
    const { dependencies, peerDependencies } = packageJson;
    const known = new Set([
      ...Object.keys({ ...dependencies, ...peerDependencies }),
      ...builtinModules,
      'troupe',
    ]);
    const missing = [...sources(['.ts', '.tsx'])]
      .filter(([path]) => !others.test(path))
      .flatMap(([path, text]) =>
        importsOf(path, text)
          .filter(({ target, typeOnly }) => target.startsWith('package:') && !typeOnly)
          .map(({ target }) => nameOf(target))
          .filter((name) => !name.startsWith('node:') && !known.has(name))
          .map((name) => `${path}: ${name}`),
      );
    expect(missing).toEqual([]);
  });
});

describe('the rules against import cycles', () => {
  test('hold for every file of this repository', () => {
    expect(complaints(cycleFindings(sources(['.ts', '.tsx'])))).toEqual([]);
  });

  test.each([
    ['static imports', `import { b } from './b.ts';`, `import { a } from './a.ts';`],
    ['a type import', `import { b } from './b.ts';`, `import type { A } from './a.ts';`],
    ['a dynamic import', `const b = await import('./b.ts');`, `import type { A } from './a.ts';`],
    ['a re-export', `export { b } from './b.ts';`, `export * from './a.ts';`],
    ['an import type', `type B = import('./b.ts').B;`, `import { a } from './a.ts';`],
  ])('refuses a cycle through %s', (_, a, b) => {
    const files = new Map([
      ['runtime/a.ts', a],
      ['runtime/b.ts', b],
    ]);
    expect(cycleFindings(files).map(({ path, line }) => [path, line])).toEqual([
      ['runtime/b.ts', 1],
    ]);
  });

  test('names every file of a long cycle, also behind files that are in none', () => {
    const files = new Map([
      ['cli/main.ts', `import './a.ts';`],
      ['cli/a.ts', `import './b.ts';`],
      ['cli/b.ts', `import './c.js';\nimport './leaf.ts';`],
      ['cli/c.ts', `import './leaf.ts';\nimport './a.ts';`],
      ['cli/leaf.ts', ''],
    ]);
    expect(complaints(cycleFindings(files))).toEqual([
      expect.stringContaining('cli/c.ts:2 import cycle: cli/a.ts -> cli/b.ts -> cli/c.ts'),
    ]);
  });

  test('accepts two ways to the same file', () => {
    const files = new Map([
      ['cli/a.ts', `import './b.ts';\nimport './c.ts';`],
      ['cli/b.ts', `import './c.ts';`],
      ['cli/c.ts', ''],
    ]);
    expect(cycleFindings(files)).toEqual([]);
  });
});
