/**
 * The parser of command lines against real shells: sh and bash run only the programs and words that
 * it has returned.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { readShellLine } from '../../../agent/policy/shell-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-shell-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const log = join(folder, 'log');
const programs = join(folder, 'programs');
spawnSync('mkdir', [programs, join(folder, 'empty')]);
for (const name of ['a', 'b', 'c']) {
  const path = join(programs, name);
  // one line per call, each word in hexadecimal digits between dots
  const hex = `printf '%s' "$word" | /usr/bin/od -An -v -tx1 | /usr/bin/tr -d ' \\n'`;
  writeFileSync(
    path,
    `#!/bin/sh\nline=$({ for word in ${name} "$@"; do ${hex}; printf .; done; })\nprintf '%s\\n' "$line" >> ${log}\n`,
  );
  chmodSync(path, 0o755);
}

const fragments = [
  String.raw`' " \ \\ \' \" $ $( ) ( { } {} ~ # ; && || | & 2>&1 >/dev/null </dev/null > < <<`.split(
    ' ',
  ),
  'a b c x 1 = X=b ! - , é / *'.split(' '),
  ['\n', '\\\n', '\t', ' ', ' ', ' ', '  ', '`'],
].flat();
/** Programs and words, with characters between them that shells interpret. */
const line = fc
  .array(fc.constantFrom('a ', 'b ', 'c ', ' a', ...fragments), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''));

const hexOf = (words: readonly string[]) =>
  words.map((word) => `${Buffer.from(word).toString('hex')}.`).join('');

/** What the shell ran, one entry per program. */
const ranBy = (shell: string, text: string): readonly string[] => {
  rmSync(log, { force: true });
  // `wait`, because background commands write lines, too
  spawnSync(shell, ['-c', `${text}\nwait`], {
    cwd: join(folder, 'empty'),
    env: { PATH: programs, HOME: '/no-home' },
    timeout: 10_000,
  });
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
};

describe.each(['/bin/sh', '/bin/bash'])('%s', (shell) => {
  it.skipIf(!existsSync(shell))('runs nothing but the parsed programs and words', () => {
    let ran = 0;
    fc.assert(
      fc.property(line, (text) => {
        const commands = readShellLine(text);
        fc.pre(commands !== undefined);
        fc.pre(commands.every(({ words }) => !words.some(({ expands }) => expands)));
        const read = commands.map(({ words }) => hexOf(words.map((word) => word.text)));
        const done = ranBy(shell, text);
        ran += done.length;
        expect([text, done.filter((one) => !read.includes(one))]).toEqual([text, []]);
      }),
      { numRuns: 120, maxSkipsPerRun: 1_000 },
    );
    expect(ran).toBeGreaterThan(20);
  });
});
