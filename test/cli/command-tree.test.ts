/** What holds for every command. */
import { describe, expect, it } from 'vitest';
import type { Command } from 'commander';
import { operationGroupNames } from '../../cli/operation-groups.ts';
import { buildProgram } from '../../cli/program.ts';

type Named = { readonly path: string; readonly command: Command };

const program = await buildProgram(() => {}, operationGroupNames);

const allBelow = (command: Command, path = ''): readonly Named[] =>
  command.commands.flatMap((each) => {
    const own = `${path} ${each.name()}`.trim();
    return [{ path: own, command: each }, ...allBelow(each, own)];
  });
const commands = allBelow(program);

/** They print text of a given form, or talk with a person or a program. */
const withoutJson = [
  'chat',
  'node run',
  'mcp serve',
  'charts export',
  'config schema',
  'config reference',
  'completion',
  'dev',
];

describe('every command', () => {
  it('is described', () => {
    expect(commands.length).toBeGreaterThan(80);
    const silent = commands.filter(({ command }) => command.description() === '');
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  it('prints JSON with --json', () => {
    const lacking = commands.filter(
      ({ command }) =>
        command.commands.length === 0 && !command.options.some(({ long }) => long === '--json'),
    );
    expect(lacking.map(({ path }) => path).toSorted()).toEqual(withoutJson.toSorted());
  });

  it('of a group that has a list lists when the group is called alone', () => {
    const groups = commands.filter(({ command }) =>
      command.commands.some((each) => each.name() === 'list'),
    );
    expect(groups.length).toBeGreaterThan(20);
    const others = groups.filter(
      ({ command }) => (command as { _defaultCommandName?: string })._defaultCommandName !== 'list',
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});

it('help fits a terminal of 40 columns', async () => {
  const narrow = await buildProgram(() => {}, operationGroupNames);
  for (const { path, command } of [{ path: '', command: narrow }, ...allBelow(narrow)]) {
    command.configureOutput({ getOutHelpWidth: () => 40 });
    const [usage, ...lines] = command.helpInformation().split('\n');
    expect(usage).toContain('Usage:');
    // A term stays whole.
    const wide = lines.filter((line) => line.length > 40 && !/^ {2}\S+( \S+)*$/.test(line));
    expect({ path, wide }).toEqual({ path, wide: [] });
  }
});

it('bug: help of a terminal that reports 0 columns had each description in a line of its own', async () => {
  const unsized = await buildProgram(() => {}, operationGroupNames);
  const before = Object.getOwnPropertyDescriptors(process.stdout);
  try {
    Object.assign(process.stdout, { isTTY: true, columns: 0 });
    expect(unsized.helpInformation()).toMatch(/-h, --help +print help/);
  } finally {
    for (const name of ['isTTY', 'columns'] as const) {
      delete (process.stdout as Partial<NodeJS.WriteStream>)[name];
      if (before[name]) Object.defineProperty(process.stdout, name, before[name]);
    }
  }
});
