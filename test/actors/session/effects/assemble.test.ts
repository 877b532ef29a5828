/** The prompt of a run, from files, skills and hooks. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assemble, filesOf } from '../../../../actors/session/effects/assemble.ts';
import { logNotes } from '../../../../agent/context/daily-log.ts';
import { createSecretMask } from '../../../../agent/tools/secret-mask.ts';
import type { AssembleInput, AssembleOutput } from '../../../../actors/session/types.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { temporaryFolder } from '../../../runtime/workspaces/temporary.ts';
import { session, stage, type StageOptions } from './stage.ts';

const input: AssembleInput = { ...session, text: 'hello', isFirst: false };

async function onStage(options: StageOptions = {}) {
  const on = await stage(options);
  return {
    ...on,
    make: (some: Partial<AssembleInput> = {}) =>
      on.run((context) => assemble.run({ ...input, ...some }, context)),
    end: () => rm(on.folder, { recursive: true, force: true }),
  };
}

const leftOf = ({ prompt }: AssembleOutput): Record<string, unknown> =>
  Object.fromEntries(prompt!.report.sources.map(({ name, left }) => [name, left]));
const skill = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\n`;

describe('a prompt', () => {
  it('is made where the agent has no workspace, and where none are configured', async () => {
    for (const hasWorkspaces of [true, false]) {
      const { make, end } = await onStage({ hasWorkspaces });
      const made = await make();
      expect(leftOf(made)).toMatchObject({ 'AGENTS.md': 'missing', 'USER.md': 'missing' });
      expect(made.prompt?.report.tools).toContain('clock');
      await end();
    }
  });

  it('contains the files of the workspace as they are now, once', async () => {
    const { make, inWorkspace, end } = await onStage();
    await inWorkspace((path) => writeFile(join(path, 'AGENTS.md'), 'Feed the cat.'));
    const first = await make();
    expect(first.prompt?.system).toContain('# AGENTS.md\n\nFeed the cat.');
    expect((await make({ digest: first.digest })).prompt).toBeUndefined();
    await inWorkspace((path) => writeFile(join(path, 'AGENTS.md'), 'Feed the dog.'));
    const next = await make({ digest: first.digest });
    expect(next.prompt?.system).toContain('Feed the dog.');
    expect(next.digest).not.toBe(first.digest);
    await end();
  });

  it('contains the notes of today and yesterday, and MEMORY.md in the main session only', async () => {
    const { make, inWorkspace, end } = await onStage();
    const day = 86_400_000;
    await inWorkspace(async (path) => {
      await writeFile(join(path, 'MEMORY.md'), 'Text of MEMORY.');
      for (const [at, text] of [
        [Date.now(), 'of today'],
        [Date.now() - day, 'of yesterday'],
        [Date.now() - 2 * day, 'of the day before'],
      ] as const)
        await logNotes(path, { id: text, sessionKey: 's', text, at });
    });
    const systemOf = async (about: Partial<AssembleInput>) => (await make(about)).prompt!.system;
    const main = await systemOf({});
    const group = await systemOf({ sessionKey: 'agent:main:telegram:group:1' });
    const about = { isSubagent: true, parent: 'agent:boss:main' } as const;
    const subagent = await systemOf({ ...about, sessionKey: 'agent:main:subagent:1' });
    for (const text of ['of today', 'of yesterday']) {
      for (const system of [main, group]) expect(system).toContain(text);
      expect(subagent).not.toContain(text);
    }
    expect(main).toContain('# MEMORY.md\n\nText of MEMORY.');
    for (const system of [group, subagent]) expect(system).not.toContain('Text of MEMORY.');
    expect(main).not.toContain('of the day before');
    await end();
  });

  it('bug: a secret that a command wrote into a file of the prompt went to the model', async () => {
    const { make, inWorkspace, end, services } = await onStage();
    Object.assign(services, { secrets: createSecretMask(['value-of-a-skill']) });
    await inWorkspace(async (path) => {
      await writeFile(join(path, 'USER.md'), 'KEY=value-of-a-skill\n');
      await mkdir(join(path, 'skills/leak'), { recursive: true });
      await writeFile(join(path, 'skills/leak/SKILL.md'), skill('value-of-a-skill'));
    });
    const made = await make();
    expect(made.prompt?.system).toContain('KEY=***');
    expect(JSON.stringify(made)).not.toContain('value-of-a-skill');
    await end();
  });

  it('of a subagent names its parent, and contains nothing of the persona of its agent', async () => {
    const { make, inWorkspace, end } = await onStage();
    await inWorkspace(async (path) => {
      for (const name of ['AGENTS', 'SOUL', 'TOOLS', 'IDENTITY', 'USER'])
        await writeFile(join(path, `${name}.md`), `Text of ${name}.`);
      await mkdir(join(path, 'skills/own'), { recursive: true });
      await writeFile(join(path, 'skills/own/SKILL.md'), skill('own'));
    });
    const about = { isSubagent: true, parent: 'agent:boss:main' } as const;
    const made = await make({ ...about, settings: { ...input.settings, purpose: 'To dig.' } });
    const { system, report } = made.prompt!;
    expect(system).toContain("You are a subagent of the agent 'boss'.");
    expect(system).toContain('Your purpose: To dig.');
    for (const name of ['AGENTS', 'TOOLS']) expect(system).toContain(`Text of ${name}.`);
    for (const name of ['SOUL', 'IDENTITY', 'USER'])
      expect(system).not.toContain(`Text of ${name}.`);
    expect(leftOf(made)).toMatchObject({ 'SOUL.md': 'missing', 'USER.md': 'missing' });
    expect(report.skills).toEqual([]);
    expect((await make()).prompt?.system).toContain('Text of SOUL.');
    await end();
  });

  it('is made while a tool works in the workspace', async () => {
    const { make, inWorkspace, end } = await onStage();
    await inWorkspace(async (path) => {
      await writeFile(join(path, 'SOUL.md'), 'Kind.');
      expect((await make()).prompt?.system).toContain('Kind.');
    });
    await end();
  });

  it('leaves out, and reports, what is no text or leads out of the workspace', async () => {
    const { make, inWorkspace, folder, end } = await onStage();
    await writeFile(join(folder, 'secret'), 'the secret');
    await inWorkspace(async (path) => {
      await writeFile(join(path, 'AGENTS.md'), Buffer.from([0xff, 0xfe, 0xfd]));
      await writeFile(join(path, 'SOUL.md'), 'a\0b');
      await symlink(join(folder, 'secret'), join(path, 'USER.md'));
    });
    const made = await make();
    const left = 'unreadable';
    expect(leftOf(made)).toMatchObject({ 'AGENTS.md': left, 'SOUL.md': left, 'USER.md': left });
    expect(made.prompt?.system).not.toContain('the secret');
    await end();
  });

  it('lists the skills of the agent and of all agents, and names the invalid ones', async () => {
    const shared = await temporaryFolder();
    for (const name of ['mail', 'news']) {
      await mkdir(join(shared, name));
      await writeFile(join(shared, name, 'SKILL.md'), skill(name));
    }
    const env = { TOKEN: { reveal: () => 'abc' }, OTHER: { reveal: () => 'def' } };
    const { make, run, inWorkspace, services, end } = await onStage({
      skills: { skillsFolder: shared, skillsEnv: env },
    });
    await inWorkspace(async (path) => {
      for (const name of ['mail', 'broken', 'token'])
        await mkdir(join(path, 'skills', name), { recursive: true });
      await writeFile(join(path, 'skills/mail/SKILL.md'), skill('mail'));
      await writeFile(join(path, 'skills/broken/SKILL.md'), 'no front matter');
      const token = skill('token').replace('\n---\n', '\nenv: [TOKEN]\n---\n');
      await writeFile(join(path, 'skills/token/SKILL.md'), token);
    });
    const { prompt } = await make();
    expect(prompt?.report.skills).toEqual(['mail', 'news', 'token']);
    expect(prompt?.report.problems).toEqual([expect.stringContaining('skills/broken/SKILL.md')]);
    expect(prompt?.system).toContain('- mail: Does mail. (skills/mail/SKILL.md)');
    expect(prompt?.system).toContain('- news: Does news. (/skills/news/SKILL.md)');
    const given = await run((context) => filesOf(services).environment('default', 'main', context));
    expect(given).toEqual({ TOKEN: 'abc' });
    await writeFile(join(shared, 'news/SKILL.md'), skill('olds'));
    await eventually(async () => expect((await make()).prompt?.report.skills).toContain('olds'));
    await rm(shared, { recursive: true });
    await end();
  });

  it('is changed by hooks: files before it is made, the whole of it and the message after', async () => {
    const seen: unknown[] = [];
    const { make, inWorkspace, end } = await onStage({
      hooks: {
        name: 'ours',
        hooks: {
          session_start: (event) => void seen.push(event),
          'agent:bootstrap': ({ files }) => ({
            files: [
              ...files.filter(({ name }) => name !== 'SOUL.md'),
              { name: 'HOUSE.md', text: 'House rules.' },
            ],
          }),
          before_agent_start: ({ prompt, system }) => ({
            system: `${system}\n\nAsked: ${prompt}`,
            prependContext: 'It rains.',
          }),
          message_sending: () => undefined,
        },
      },
    });
    await inWorkspace(async (path) => {
      await writeFile(join(path, 'AGENTS.md'), 'Feed the cat.');
      await writeFile(join(path, 'SOUL.md'), 'Kind.');
    });
    const made = await make({ isFirst: true });
    expect(seen).toEqual([{ sessionId: 's' }]);
    expect(made).toMatchObject({ prepend: 'It rains.', replyHooks: true });
    expect(made.prompt?.system).toMatch(/Feed the cat\.[^]*House rules\.[^]*Asked: hello$/);
    expect(made.prompt?.system).not.toContain('Kind.');
    expect(leftOf(made)).toMatchObject({ 'SOUL.md': 'hook', 'HOUSE.md': undefined });
    await make();
    expect(seen).toHaveLength(1);
    await end();
  });

  it('answers concurrent requests with the state at the time of their requests', async () => {
    const { make, inWorkspace, end } = await onStage();
    const texts = ['one', 'two', 'three', 'four'];
    for (const text of texts) {
      await inWorkspace((path) => writeFile(join(path, 'AGENTS.md'), text));
      const made = await Promise.all([make(), make(), make()]);
      for (const { prompt } of made) expect(prompt?.system).toContain(`# AGENTS.md\n\n${text}\n`);
    }
    await end();
  });
});
