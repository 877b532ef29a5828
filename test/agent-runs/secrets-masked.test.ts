/** Secret values in results of tools reach no model, no subscriber and no transcript. */
import { expect, it, onTestFinished } from 'vitest';
import { write } from '../runtime/config/folder.ts';
import { startModelServer } from '../servers/model-server.ts';
import { install, providerOf } from './installation.ts';

const SKILL = 'value-of-the-skill-77';
const PROVIDER = 'key-of-the-test';
const OF_ACME = 'token-of-the-tenant-acme';
const LEAK = [
  // two deltas, each with a part of the value
  `printf 'got ${SKILL.slice(0, 9)}'; sleep 0.4; echo '${SKILL.slice(9)}.'; sleep 0.4`,
  `echo '${OF_ACME}' >&2`,
  `printf 'user:${SKILL}' | base64; printf '${SKILL}' | od -An -tx1 -v | tr -d ' \\n'; echo`,
  // longer than the displayed part, so that the displayed part starts within a line
  `i=0; while [ $i -lt 4000 ]; do echo '${PROVIDER}'; i=$((i+1)); done`,
].join('\n');

it('are masked in results, deltas, background output, files and errors', async () => {
  const server = await startModelServer({ api: 'openai-completions' });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf('openai-completions', server) } },
      skills: { env: { SKILL } },
      agents: { defaults: { sandbox: { mode: 'none' } } },
      tools: { exec: { allow: ['sh leak.sh'] } },
      tenants: { acme: { token: OF_ACME } },
    },
    files: {
      'leak.sh': LEAK,
      // a line is cut after 2,000 characters
      'notes.txt': `${'x'.repeat(1_990)} ${SKILL}\n${PROVIDER}\n`,
    },
  });
  write(troupe.workspace(), `${OF_ACME}.bin`, '\0');
  const calls = [
    { name: 'exec', args: { command: 'sh leak.sh' } },
    { name: 'read', args: { path: 'notes.txt' } },
    { name: 'read', args: { path: '.' } },
    { name: 'exec', args: { command: 'sh leak.sh', yieldMs: 100 } },
    { name: 'process', args: { action: 'list' } },
  ].map((call, at) => ({ id: `call_${at}`, ...call }));
  server.script({ kind: 'answer', calls }, { kind: 'answer', deltas: ['done'] });
  const { row, results, events } = await troupe.run('agent:main:main', 'print them');
  expect(row.status).toBe('ok');
  expect(results[0]?.result).toContain('***\n***\n');
  expect(results[1]?.result).toMatch(/x \*\*\*\n +2 {2}\*\*\*/);
  expect(results[2]?.result).toContain('***.bin');
  const deltas = events.flatMap((event) =>
    event.stream === 'tool' && event.phase === 'update' ? [event.delta] : [],
  );
  expect(deltas.join('')).toContain('got ***.');
  const everything = JSON.stringify([results, events, server.requests.at(-1)?.body]);
  for (const value of [SKILL, PROVIDER, OF_ACME]) expect(everything).not.toContain(value);
  expect(everything).not.toContain(Buffer.from(`user:${SKILL}`).toString('base64').slice(10, 20));
  expect(everything).not.toContain(Buffer.from(SKILL).toString('hex').slice(4, 14));
  expect(everything).not.toMatch(/value-of-|-skill-77|key-of-the-|of-the-tenant/);
});
