/** A gateway published by Tailscale: the real commands, executed by a program that records them. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Gateway } from '../../channels/index.ts';
import { publishedBy } from '../../installation/tailscale-publication.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-tailscale-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Records its arguments; fails with `says` if that is set. */
const program = (says?: string): string => {
  const path = join(folder, 'tailscale');
  const end = says === undefined ? 'exit 0' : `echo '${says}' >&2; exit 1`;
  writeFileSync(path, `#!/bin/sh\necho "$@" >> '${folder}/calls'\n${end}\n`);
  chmodSync(path, 0o755);
  return path;
};
const calls = (): string[] => {
  const path = join(folder, 'calls');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};

const open = (closed: string[] = []): Gateway => ({
  port: 18_789,
  url: 'http://127.0.0.1:18789/',
  close: () => {
    closed.push('closed');
    return Promise.resolve();
  },
});
const listener = () => {
  const warned: string[] = [];
  const warn = (facts: object, message: string) => warned.push(message + JSON.stringify(facts));
  return { warned, log: { info: () => {}, warn } };
};
const how = (mode: 'off' | 'serve' | 'funnel', binary: string, resetOnExit = true) => ({
  mode,
  binary,
  resetOnExit,
});

describe('a publication by Tailscale', () => {
  it.each(['serve', 'funnel'] as const)(
    '%s forwards to the port, and ends when troupe stops',
    async (mode) => {
      const closed: string[] = [];
      const { log } = listener();
      const gateway = await publishedBy(how(mode, program()), open(closed), log);
      expect(calls()).toEqual([`${mode} --bg --yes 18789`]);
      await gateway.close();
      expect(closed).toEqual(['closed']);
      expect(calls()).toEqual([`${mode} --bg --yes 18789`, `${mode} reset`]);
    },
  );

  it('remains after the end without resetOnExit', async () => {
    const gateway = await publishedBy(how('serve', program(), false), open(), listener().log);
    await gateway.close();
    expect(calls()).toEqual(['serve --bg --yes 18789']);
  });

  it('runs no command when it is off', async () => {
    const gateway = await publishedBy(how('off', program()), open(), listener().log);
    await gateway.close();
    expect(calls()).toEqual([]);
  });

  it('keeps the gateway open when it fails, and logs the reason and the remedy', async () => {
    const { warned, log } = listener();
    const gateway = await publishedBy(how('serve', program('not logged in')), open(), log);
    expect(warned.join()).toMatch(/not logged in/);
    expect(warned.join()).toMatch(/serve --bg --yes 18789/);
    await gateway.close();
    expect(calls()).toEqual(['serve --bg --yes 18789']);
  });

  it('reports a missing program as well', async () => {
    const { warned, log } = listener();
    await publishedBy(how('funnel', join(folder, 'none')), open(), log);
    expect(warned.join()).toMatch(/ENOENT/);
  });
});
