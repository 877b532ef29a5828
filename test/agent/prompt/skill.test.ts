/** Parsing of SKILL.md files. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSkill } from '../../../agent/prompt/skill.ts';

let programs: string;
beforeAll(() => {
  programs = mkdtempSync(join(tmpdir(), 'troupe-programs-'));
  writeFileSync(join(programs, 'curl'), '#!/bin/sh\n');
  chmodSync(join(programs, 'curl'), 0o755);
});
afterAll(() => rmSync(programs, { recursive: true }));

const read = (text: string) =>
  readSkill('skills/w/SKILL.md', text, { env: new Set(['TOKEN']), path: `/nowhere:${programs}` });
const skill = (matter: string, body = '\n# How\n') => read(`---\n${matter}\n---\n${body}`);
const base = 'name: weather\ndescription: Tells the weather.\n';

describe('a SKILL.md', () => {
  it('names the skill, its purpose and its file', () => {
    expect(skill('name: Weather 2\ndescription: |\n  Tells\n  the weather.')).toEqual({
      skill: {
        name: 'Weather 2',
        description: 'Tells the weather.',
        path: 'skills/w/SKILL.md',
        env: [],
      },
    });
    expect(read(`---\r\n${base.replaceAll('\n', '\r\n')}---\r\n`)).toHaveProperty('skill');
  });

  it('is usable when its requirements are met', () => {
    const needs = `${base}env: [TOKEN]\nrequires:\n  bins: [curl]`;
    expect(skill(needs)).toMatchObject({ skill: { env: ['TOKEN'] } });
    const foreign = `${base}metadata: {"openclaw": {"requires": {"bins": ["curl"], "env": ["TOKEN"]}}}`;
    expect(skill(foreign)).toMatchObject({ skill: { env: ['TOKEN'] } });
  });

  const wrong: [string, string, RegExp][] = [
    ['has no front matter', '# Weather', /does not begin with front matter/],
    ['has no name', '---\ndescription: x\n---\n', /name: is missing/],
    ['has no description', '---\nname: x\n---\n', /description: is missing/],
    ['has a name of another kind', '---\nname: [a]\ndescription: x\n---\n', /name: is missing/],
    ['has a name with a slash', '---\nname: "a/b"\ndescription: x\n---\n', /name: at most/],
    ['is no YAML', '---\nname: "x\ndescription: [\n---\n', /SKILL\.md: ./],
    ['is a list', '---\n- a\n---\n', /name: is missing/],
    ['has a bomb of aliases', `---\n${base}a: &a [x]\nb: [*a, *a]\n---\n`, /alias/i],
    ['is too long', `---\n${base}x: ${'y'.repeat(17_000)}\n---\n`, /longer than 16384/],
    ['names no variables', `---\n${base}env: ["A B"]\n---\n`, /env: must be a list/],
    [
      'needs a program that is not installed',
      `---\n${base}requires: {bins: [ffmpeg]}\n---\n`,
      /ffmpeg/,
    ],
    ['needs a variable that is not set', `---\n${base}env: KEY\n---\n`, /set skills\.env\.KEY/],
  ];
  it.each(wrong)('that %s is reported with its path', (_, text, why) => {
    const found = read(text);
    expect(found).toHaveProperty('problem', expect.stringMatching(why));
    expect(found).toHaveProperty('problem', expect.stringMatching(/^skills\/w\/SKILL\.md: /));
  });

  it('that is marked as always usable does not have to meet its requirements', () => {
    expect(skill(`${base}always: true\nrequires: {bins: [ffmpeg]}`)).toHaveProperty('skill');
  });

  it('never causes an exception, whatever its content', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (matter) => {
        const found = skill(matter);
        expect('skill' in found || 'problem' in found).toBe(true);
      }),
    );
  });
});
