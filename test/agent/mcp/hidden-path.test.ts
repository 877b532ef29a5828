/** A server that is installed where the sandbox does not show it. */
import { chmodSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { hiddenPath } from '../../../agent/mcp/hidden-path.ts';
import { findSandbox } from '../../../agent/sandbox/choose.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { openServers } from './servers-fixture.ts';

/** A program in a folder of its own, as `npm install --global` with a prefix makes it. */
function installed(): string {
  const file = write(scratchFolder(), 'bin/notes-server', '#!/bin/sh\ncat\n');
  chmodSync(file, 0o755);
  return file;
}

it('names the program that PATH finds and a sandbox hides', () => {
  const file = installed();
  const found = hiddenPath(['notes-server'], 'bubblewrap', dirname(file));
  expect(found).toContain(`${file} exists on this machine, but the sandbox does not show it`);
  expect(found).toContain('sandbox: false');
  expect(hiddenPath(['notes-server'], 'docker', dirname(file))).toContain('tools.exec.image');
});

it('names a hidden argument, and a link into a hidden folder', () => {
  const file = installed();
  expect(hiddenPath(['/usr/bin/env', file], 'auto')).toContain(`${file} exists`);
  const link = join(scratchFolder(), 'linked');
  symlinkSync(file, link);
  expect(hiddenPath([link], 'auto')).toContain(`${link} exists`);
});

it.each([
  ['the host', ['notes-server'], 'host'],
  ['a program of the system', ['/usr/bin/env', '--help'], 'bubblewrap'],
  ['a program that is nowhere', ['no-such-program-4711', '/no/such/file'], 'bubblewrap'],
] as const)('says nothing of %s', (_what, argv, kind) => {
  const folder = dirname(installed());
  expect(
    hiddenPath(argv, kind, ['/usr/bin', ...(kind === 'host' ? [folder] : [])].join(delimiter)),
  ).toBeUndefined();
});

const found = await findSandbox({});

it.skipIf(!('boundary' in found))('is in the error of a server that cannot start', async () => {
  const file = installed();
  const before = process.env['PATH'];
  process.env['PATH'] = `${dirname(file)}${delimiter}${before}`;
  onTestFinished(() => void (process.env['PATH'] = before));
  const { servers } = openServers({ test: { command: 'notes-server' } });
  await expect(servers.list('test')).rejects.toThrow(
    new RegExp(`its process ended .*${file} exists on this machine, but the sandbox`, 's'),
  );
});
