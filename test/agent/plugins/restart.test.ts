/** A plugin is started again while it is in use. */
import { expect, it } from 'vitest';
import { write } from '../../runtime/config/folder.ts';
import { codeOf, opened, toolNamed } from './plugin-folder.ts';

const context = () => ({ signal: new AbortController().signal }) as never;

const saying = (word: string) =>
  codeOf('one', `tools: [{ name: 'one', run: () => '${word} ' + process.pid }]`);

// Bug: a call that arrived while the old process was ending started the old code again, beside it,
// and the restart took that for the new one.
it('a restart with calls ends with the new code, and one process', async () => {
  const { tools, restart, row, home } = await opened({
    one: { manifest: { tools: [toolNamed('one')] }, code: saying('old') },
  });
  const call = async () => (await tools[0]!.run({}, context())).text;
  expect(await call()).toMatch(/^old /);
  write(home, 'extensions/one/src/index.ts', saying('new'));
  const restarted = restart('one');
  await new Promise((resolve) => setImmediate(resolve));
  const during = call();
  await restarted;
  expect(await during).toMatch(/^new /);
  expect(await call()).toBe(await during);
  expect(row('one')).toMatchObject({ state: 'running', restarts: 1 });
});
