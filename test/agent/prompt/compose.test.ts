/** The system prompt and its report. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { composePrompt, type PromptParts, replaced } from '../../../agent/prompt/compose.ts';
import { CONTEXT_FILES, type PromptFacts } from '../../../agent/prompt/sources.ts';

const facts: PromptFacts = {
  agentId: 'main',
  settings: {
    agentId: 'main',
    purpose: 'keep the books',
    timeoutMs: 1,
    runsMax: 1,
    tokensPerDay: 0,
  },
  model: 'offline/troupe-offline',
  window: 200_000,
  confinement: { sandboxed: true, workspaceAccess: 'ro' },
  now: Date.parse('2026-11-21T12:00:00Z'),
  tools: ['read'],
};
const none: PromptParts = { files: [], skills: [], problems: [] };
const compose = (parts: Partial<PromptParts>, some: Partial<PromptFacts> = {}) =>
  composePrompt({ ...facts, ...some }, { ...none, ...parts });

describe('the prompt', () => {
  it('has its sources in a fixed order, whatever the order of the files', () => {
    const files = [...CONTEXT_FILES].reverse().map((name) => ({ name, text: `of ${name}` }));
    const skill = {
      name: 'mail',
      description: 'Writes mail.',
      path: 'skills/mail/SKILL.md',
      env: [],
    };
    const { system, report } = compose(
      { files: [{ name: 'HOOK.md', text: 'of HOOK.md' }, ...files], skills: [skill] },
      { extraSystemPrompt: 'Be brief.' },
    );
    const order = ['base', ...CONTEXT_FILES, 'HOOK.md', 'skills', 'runtime', 'extra'];
    expect(report.sources.map(({ name }) => name)).toEqual(order);
    const places = [
      "You are 'main'",
      'keep the books',
      ...CONTEXT_FILES.map((name) => `of ${name}`),
      'of HOOK.md',
      '- mail: Writes mail. (skills/mail/SKILL.md)',
      '# Runtime',
      'Be brief.',
    ].map((text) => system.indexOf(text));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(report).toMatchObject({ skills: ['mail'], tools: ['read'] });
  });

  it('states the environment and the permissions, but not the time of day', () => {
    const { system } = compose({});
    expect(system).toContain('2026-11-21');
    expect(system).toContain('Model: offline/troupe-offline');
    expect(system).toContain('in a sandbox');
    expect(system).toContain('you may read it, not write to it');
    expect(compose({}, { now: facts.now + 60_000 }).digest).toBe(compose({}).digest);
    expect(compose({}, { tools: [] }).digest).not.toBe(compose({}).digest);
  });

  it('reports sources that are missing, empty, unreadable or removed by a hook', () => {
    const { report } = compose({
      files: [
        { name: 'AGENTS.md', text: ' \n' },
        { name: 'SOUL.md', left: 'unreadable' },
        { name: 'TOOLS.md', left: 'hook' },
      ],
      problems: ['skills/x/SKILL.md: no'],
    });
    const left = Object.fromEntries(report.sources.map((source) => [source.name, source.left]));
    expect(left).toMatchObject({
      'AGENTS.md': 'empty',
      'SOUL.md': 'unreadable',
      'TOOLS.md': 'hook',
      'USER.md': 'missing',
      skills: 'missing',
    });
    expect(report.problems).toEqual(['skills/x/SKILL.md: no']);
  });

  it('keeps the beginning and the end of a file that is too long, with a note', () => {
    const text = `first ${'x'.repeat(30_000)} last`;
    const { system, report } = compose({ files: [{ name: 'AGENTS.md', text }] });
    expect(system).toContain('first ');
    expect(system).toContain(' last');
    expect(system).toMatch(/\d+ characters are left out here/);
    const source = report.sources.find(({ name }) => name === 'AGENTS.md');
    expect(source?.characters).toBeLessThanOrEqual(20_000);
    expect(source?.cutFrom).toBe(text.length + '# AGENTS.md\n\n'.length);
  });

  it('stays within a quarter of a small window and drops the last files first', () => {
    const files = CONTEXT_FILES.map((name) => ({ name, text: 'x'.repeat(3_000) }));
    const { system, report } = compose({ files }, { window: 8_000 });
    expect(system.length).toBeLessThanOrEqual(8_000);
    expect(report.sources.at(-1)).toMatchObject({ name: 'runtime' });
    expect(report.sources.find(({ name }) => name === 'AGENTS.md')?.cutFrom).toBeUndefined();
    expect(report.sources.find(({ name }) => name === 'USER.md')?.left).toBe('limit');
  });

  it('never exceeds the total limit, and reports exactly its content', () => {
    const file = fc.record({
      name: fc.constantFrom(...CONTEXT_FILES, 'A.md', 'B.md'),
      text: fc.string({ maxLength: 10 }).map((text) => text.repeat(4_000)),
    });
    const files = fc.uniqueArray(file, { selector: ({ name }) => name });
    fc.assert(
      fc.property(files, fc.integer({ min: 2_000, max: 700_000 }), (found, window) => {
        const { system, report } = compose({ files: found }, { window });
        expect(system.length).toBeLessThanOrEqual(Math.min(150_000, window));
        const there = report.sources.filter(({ left }) => left === undefined);
        const sum = there.reduce((all, { characters }) => all + characters, 0);
        expect(system.length).toBe(sum + 2 * (there.length - 1));
      }),
      { numRuns: 50 },
    );
  });

  it('has another digest when a hook replaced its text', () => {
    const prompt = replaced(compose({}), 'Only this.');
    expect(prompt.system).toBe('Only this.');
    expect(prompt.report.sources.at(-1)).toEqual({ name: 'before_agent_start', characters: 10 });
    expect(prompt.digest).not.toBe(compose({}).digest);
  });
});
