/** docs/hooks.md and the examples against the contracts. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createHooks } from '../../agent/hooks/create-hooks.ts';
import { HOOKS } from '../../agent/hooks/hooks.ts';
import { loadHooks } from '../../agent/hooks/load.ts';
import { hookSamples } from '../../cli/hooks/hook-samples.ts';

const root = new URL('../../', import.meta.url);
const about = { tenant: 'default', agentId: 'main', sessionKey: 'agent:main:main' };

const rows = readFileSync(new URL('docs/hooks.md', root), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const wordsOf = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, word]) => word);

describe('the table of hooks', () => {
  it('has each hook in order, with its time limit and the effect of its failure', () => {
    expect(rows.map(([, name, , , , time, failure]) => [name, Number(time), failure])).toEqual(
      Object.entries(HOOKS).map(([name, contract]) => [
        `\`${name}\``,
        contract.timeoutMs,
        contract.onFailure,
      ]),
    );
  });

  it('names every key of an event, and marks the optional ones', () => {
    for (const [, name = '', , event] of rows) {
      const sample = hookSamples[name.replaceAll('`', '') as keyof typeof hookSamples];
      const named = wordsOf(event).filter((word) => word !== 'sender' && word !== 'error');
      const keys = Object.keys(sample).filter((key) => key !== 'sender');
      expect([name, named]).toEqual([name, keys]);
    }
  });

  it('names results as the code accepts them', async () => {
    const values: Readonly<Record<string, unknown>> = { files: [], args: {}, cancel: true };
    for (const [, name = '', , , cell] of rows) {
      const hook = name.replaceAll('`', '') as keyof typeof hookSamples;
      if (hook === 'tool_result_persist') continue;
      for (const word of wordsOf(cell)) {
        const result = { [word ?? '']: values[word ?? ''] ?? 'text' };
        const failures: string[] = [];
        const hooks = createHooks({
          modules: [{ name: 'doc', hooks: { [hook]: () => result } }],
          report: ({ why }) => failures.push(`${hook}: ${why}`),
        });
        expect(await hooks.run(hook, hookSamples[hook], about)).toEqual(result);
        expect(failures).toEqual([]);
      }
    }
  });
});

describe('the examples of hooks', () => {
  it('load, and do what the page says', async () => {
    const folder = fileURLToPath(new URL('examples/hooks', root));
    const { loaded, faults } = await loadHooks({ folder });
    expect(faults).toEqual([]);
    expect(loaded.map(({ module }) => module.name)).toEqual(['diary', 'guard']);
    const hooks = createHooks({ modules: loaded.map(({ module }) => module) });
    const call = { name: 'exec', callId: 'c', args: { command: 'rm -rf x' } };
    expect(await hooks.run('before_tool_call', call, about)).toEqual({
      block: 'removing folders is for people',
    });
    const key = `sk-${'a'.repeat(20)}`;
    const event = { name: 'read', callId: 'c', result: `the key is ${key}.`, isError: false };
    expect(hooks.persisted(event, about)).toBe('the key is [key].');
  });
});
