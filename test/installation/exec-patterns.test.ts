/** Command patterns of a configuration. */
import { expect, it } from 'vitest';
import { createProcessServices } from '../../compose/process-services.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

const configWith = (allow: readonly string[]) => {
  const { config } = loadConfig({
    env: {},
    flags: { data: scratchFolder(), port: '0', token: 'x' },
  });
  const exec = { ...config.tools.exec, allow: [...allow] };
  return createProcessServices({ ...config, tools: { ...config.tools, exec } });
};

it('a pattern that matches nothing is refused at the start, with its place and the reason', () => {
  expect(() => configWith(['ls *', 'sudo *'])).toThrow(
    /tools\.exec\.allow\[1\] = "sudo \*"\n +matches nothing: sudo runs other programs/,
  );
  expect(() => configWith(['ls > x'])).toThrow('it is not a plain command');
});

it('valid patterns are accepted', () => {
  expect(configWith(['ls *', 'git status']).agents[0]?.tools.exec.allow).toEqual([
    'ls *',
    'git status',
  ]);
});
