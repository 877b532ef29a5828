/** `troupe start`, `troupe node` and `troupe nodes` as processes: commands for a machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { runProgram, startProgram } from '../program.ts';

test('a file above the size limit of an actor is returned whole, and again for the same key', async () => {
  const home = scratchFolder();
  const env = { TROUPE_PORT: String(await reservePort()) };
  const root = join(home, 'shared');
  mkdirSync(root);
  // Longer than 32,768 characters: it is sent as a file of the tenant.
  const text = 'a line of a long file\n'.repeat(20_000);
  writeFileSync(join(root, 'long.txt'), text);
  const gateway = startProgram(['start', '--json'], { home, env });
  await eventually(() => expect(gateway.stdout).toContain('\n'));
  startProgram(['node', 'run', '--display-name', 'box', '--root', root], { home, env });
  const nodes = (...args: string[]) => runProgram(['nodes', ...args, '--json'], { home, env });
  await eventually(async () => {
    const { stdout } = await nodes('list');
    expect(JSON.parse(stdout)).toMatchObject({ nodes: [{ connected: true }] });
  });
  const params = JSON.stringify({ path: join(root, 'long.txt') });
  const read = () => nodes('invoke', 'box', 'fs.read', '--params', params, '--key', 'once');
  for (const { stdout } of [await read(), await read()]) {
    const answer = JSON.parse(stdout) as { error?: object; payload?: { content: string } };
    expect(answer.error).toBeUndefined();
    expect(answer.payload?.content === text).toBe(true);
  }
});
