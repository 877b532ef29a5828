/** The scripts for shells, in the shells that this machine has. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

const has = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

async function scriptOf(shell: string): Promise<string> {
  const { code, stdout } = await runProgram(['completion', shell]);
  expect(code).toBe(0);
  const file = join(scratchFolder(), `troupe.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

/** What a shell prints. */
function run(shell: string, code: string): string {
  const { stdout, stderr } = spawnSync(shell, ['-c', code], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout;
}

describe('troupe completion', () => {
  it('completes commands, options and choices in bash', async () => {
    const file = await scriptOf('bash');
    const completed = (...words: string[]) =>
      run(
        'bash',
        `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
         COMP_CWORD=${words.length - 1}; _troupe; echo "\${COMPREPLY[@]}"`,
      ).trim();
    expect(completed('troupe', 'sess')).toBe('sessions');
    expect(completed('troupe', 'sessions', 'l')).toBe('list');
    expect(completed('troupe', 'sessions', 'list', '--js')).toBe('--json');
    expect(completed('troupe', '--help', 'completion', 'z')).toBe('zsh');
    expect(completed('troupe', 'nothing', 'known', 'sess')).toBe('sessions');
  });

  it.runIf(has('fish'))('completes in fish', async () => {
    const file = await scriptOf('fish');
    const completed = (line: string) =>
      run('fish', `source ${file}; complete -C '${line}'`)
        .trim()
        .split('\n')
        .map((each) => each.split('\t')[0]);
    expect(completed('troupe sess')).toEqual(['sessions']);
    expect(completed('troupe sessions l')).toEqual(['list']);
    expect(completed('troupe completion ')).toEqual(['bash', 'fish', 'zsh']);
  });

  it.runIf(has('zsh'))('is read by zsh', async () => {
    const file = await scriptOf('zsh');
    expect(run('zsh', `autoload -U compinit; compinit -D; source ${file}; echo read`)).toBe(
      'read\n',
    );
  });

  it('refuses another shell', async () => {
    const ended = await runProgram(['completion', 'tcsh']);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('bash, zsh, fish');
  });
});
