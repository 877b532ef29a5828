/** The skills of all agents, as the read tool shows them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReadTool } from '../../../agent/tools/files/read.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import { toolContext } from './tool-context.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-skills-'));
  mkdirSync(join(folder, 'skills/mail'), { recursive: true });
  writeFileSync(join(folder, 'skills/mail/SKILL.md'), 'Write kindly.');
  writeFileSync(join(folder, 'secret'), 'the secret');
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (path: string, skillsFolder: string | undefined = join(folder, 'skills')) =>
  createToolRegistry([createReadTool(skillsFolder)]).run(
    { name: 'read', args: { path } },
    toolContext({ confinement: { sandboxed: true, workspaceAccess: 'none' } }),
  );

describe('read of /skills', () => {
  it('shows a skill, also to a session without a workspace', async () => {
    expect((await read('/skills/mail/SKILL.md')).text).toContain('Write kindly.');
    expect((await read('/skills')).text).toContain('mail/');
  });

  it('shows nothing outside the folder', async () => {
    symlinkSync(join(folder, 'secret'), join(folder, 'skills/link'));
    for (const path of ['/skills/../secret', '/skills/link', '/skills/mail/../../secret']) {
      const { text, isError } = await read(path);
      expect(isError).toBe(true);
      expect(text).not.toContain('the secret');
    }
  });

  it('reports that there are no skills', async () => {
    expect(await read('/skills/x', join(folder, 'nowhere'))).toMatchObject({ isError: true });
  });
});
