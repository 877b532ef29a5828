import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { missingPackages } from '../../tools/install.mjs';

type Entry = { version: string; dev?: true; optional?: true; devOptional?: true };
const lock = (packages: Record<string, Entry>) => JSON.stringify({ packages });

describe('what is missing in node_modules', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-install-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const given = (wanted: Record<string, Entry>, installed?: Record<string, Entry>) => {
    writeFileSync(join(folder, 'package-lock.json'), lock(wanted));
    if (!installed) return;
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'node_modules', '.package-lock.json'), lock(installed));
  };
  const a = 'node_modules/a';
  const b = 'node_modules/b';

  test('a fresh clone misses everything it needs', () => {
    given({ '': { version: '0' }, [a]: { version: '1' }, [b]: { version: '1', dev: true } });
    expect(missingPackages({ dev: true, folder })).toEqual([a, b]);
  });

  test('starting needs no development package', () => {
    given({ [a]: { version: '1' }, [b]: { version: '1', dev: true } });
    expect(missingPackages({ dev: false, folder })).toEqual([a]);
  });

  test('a package of another version than the lock file says is missing', () => {
    given(
      { [a]: { version: '2' }, [b]: { version: '1' } },
      {
        [a]: { version: '1' },
        [b]: { version: '1' },
      },
    );
    expect(missingPackages({ dev: true, folder })).toEqual([a]);
  });

  test('an optional package that this machine cannot have is not missing', () => {
    given({ [a]: { version: '1', optional: true } }, {});
    expect(missingPackages({ dev: true, folder })).toEqual([]);
  });
});
