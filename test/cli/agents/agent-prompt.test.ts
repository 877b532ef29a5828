/** `troupe agent prompt`: the prompt that a model would receive, and its sources. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { folderNameOf } from '../../../runtime/workspaces/name.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

/** An installation whose agent has instructions, and a skill for all agents. */
function installation(): string {
  const home = scratchFolder();
  const data = join(home, '.troupe');
  const agent = address('default', 'agent', 'main');
  const files = join(data, 'workspaces', folderNameOf(agent), 'files');
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'AGENTS.md'), 'Feed the cat at eight.');
  mkdirSync(join(data, 'skills/news'), { recursive: true });
  writeFileSync(
    join(data, 'skills/news/SKILL.md'),
    '---\nname: news\ndescription: Reads the news.\n---\n',
  );
  return home;
}

describe('troupe agent prompt', () => {
  it('prints the prompt of the next run', async () => {
    const { code, stdout } = await runProgram(['agent', 'prompt'], { home: installation() });
    expect(code).toBe(0);
    expect(stdout).toContain('# AGENTS.md\n\nFeed the cat at eight.');
    expect(stdout).toContain('Commands: on the host');
  });

  it('explains the sources of the prompt', async () => {
    const { stdout } = await runProgram(['agent', 'prompt', '--explain'], { home: installation() });
    expect(stdout).toMatch(/^AGENTS\.md +\d+/m);
    expect(stdout).toMatch(/^USER\.md +does not exist/m);
    expect(stdout).toMatch(/^skills: news$/m);
    expect(stdout).toContain('agent:main:main');
  });

  it('prints the prompt of the named agent and session', async () => {
    const args = ['agent', 'prompt', '--agent', 'main', '--session', 'work', '--json'];
    const { stdout } = await runProgram(args, { home: installation() });
    expect(JSON.parse(stdout)).toMatchObject({
      sessionKey: 'agent:main:work',
      report: { skills: ['news'] },
      system: expect.stringContaining('Commands: in a sandbox'),
    });
    const unknown = await runProgram(['agent', 'prompt', '--agent', 'unknown-agent']);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown-agent') });
  });

  it('still requires a message for troupe agent', async () => {
    const { code, stderr } = await runProgram(['agent']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--message')]);
  });
});

describe('troupe agent workspace', () => {
  it('prints the folder of AGENTS.md and creates it', async () => {
    const home = scratchFolder();
    const { code, stdout } = await runProgram(['agent', 'workspace'], { home });
    expect(code).toBe(0);
    writeFileSync(join(stdout.trimEnd(), 'AGENTS.md'), 'Answer in verse.');
    const prompt = await runProgram(['agent', 'prompt'], { home });
    expect(prompt.stdout).toContain('# AGENTS.md\n\nAnswer in verse.');
    const explained = await runProgram(['agent', 'prompt', '--explain'], { home });
    expect(explained.stdout).toContain(`\nworkspace: ${stdout}`);
  });

  it('prints the folder that the configuration names', async () => {
    const home = scratchFolder();
    mkdirSync(join(home, '.troupe'));
    const named = `{ agents: { defaults: { workspace: '~/agents' } } }`;
    writeFileSync(join(home, '.troupe/troupe.json5'), named);
    const { stdout } = await runProgram(['agent', 'workspace'], { home });
    expect(stdout).toBe(`${join(home, 'agents/main')}\n`);
    writeFileSync(join(home, 'agents/main/AGENTS.md'), 'Answer in rhyme.');
    const prompt = await runProgram(['agent', 'prompt'], { home });
    expect(prompt.stdout).toContain('# AGENTS.md\n\nAnswer in rhyme.');
  });

  it('lists the known agents, and refuses a workspace without a folder', async () => {
    const unknown = await runProgram(['agent', 'workspace', '--agent', 'unknown-agent']);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('main') });
    const home = scratchFolder();
    mkdirSync(join(home, '.troupe'));
    const synced = `{ runtime: { workspaces: { provider: 'synced' } } }`;
    writeFileSync(join(home, '.troupe/troupe.json5'), synced);
    for (const command of ['workspace', 'prompt']) {
      const refused = await runProgram(['agent', command], { home });
      expect(refused.stderr).toContain('runtime.workspaces.provider is synced');
    }
  });
});
