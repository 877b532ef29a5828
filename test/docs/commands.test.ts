/**
 * Every `troupe ...` and `npm run ...` command in README.md and docs/ exists, with the options that
 * the page names.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, expect, it } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { operationGroupNames } from '../../cli/operation-groups.ts';
import { root } from '../../tools/install.mjs';
import { blocksOf, pages, readPage } from './pages.ts';

let program: Command;
beforeAll(async () => {
  program = await buildProgram(() => {}, operationGroupNames);
});

const SHELLS = new Set(['', 'sh', 'bash', 'text']);

/** Spans of inline code, and lines of blocks that hold commands; continued lines are joined. */
function codeOf(page: string): string[] {
  const text = readPage(page);
  const lines = blocksOf(page)
    .filter(({ language }) => SHELLS.has(language))
    .flatMap((block) => block.text.replaceAll('\\\n', ' ').split('\n'));
  const spans = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').matchAll(/`([^`\n]+)`/g);
  return [...lines, ...[...spans].map(([, span]) => span!)];
}

const START =
  /(?:^|[;&|(] ?|\$ |env [A-Z_]+=\S+ )(?:npx (?:--no-install )?)?troupe ((?:[a-z]|--).*)/;

/** The words of a command up to a comment, a pipe or another command. */
function wordsOf(line: string): string[] | undefined {
  const rest = START.exec(line)?.[1];
  if (rest === undefined) return undefined;
  const words = rest.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+/g) ?? [];
  const end = words.findIndex((word) => /^(?:#|\||&&?|;|>|<|2>|--)$/.test(word));
  return end === -1 ? words : words.slice(0, end);
}

/** What is wrong with a command, if anything. */
function wrong(words: readonly string[]): string | undefined {
  let command: Command = program;
  let n = 0;
  for (; n < words.length; n++) {
    const next = command.commands.find(
      (child) => child.name() === words[n] || child.aliases().includes(words[n]!),
    );
    if (!next) break;
    command = next;
  }
  if (command === program && !words[0]!.startsWith('-')) return 'no such command';
  const chain: Command[] = [];
  for (let at: Command | null = command; at; at = at.parent) chain.push(at);
  const group = command.commands.length > 0 ? command.commands : [];
  const known = new Set(
    [...chain, ...group].flatMap(({ options }) =>
      options.flatMap(({ short, long }) => [short, long, long?.replace(/^--no-/, '--')]),
    ),
  );
  const unknown = words
    .slice(n)
    .filter((word) => /^--?[a-z]/i.test(word))
    .map((word) => word.replace(/[=,.:)].*$/, ''))
    .find((word) => !known.has(word) && !['-h', '--help', '-V', '--version'].includes(word));
  return unknown && `no option ${unknown}`;
}

it.each(pages)('commands of troupe in %s', (page) => {
  const found = codeOf(page).flatMap((line) => {
    const words = wordsOf(line);
    const problem = words && wrong(words);
    return problem ? [`${line.trim()}: ${problem}`] : [];
  });
  expect(found).toEqual([]);
});

it('scripts of npm', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  // `dev` is in the project of `troupe init`; `env` is npm's own.
  const known = new Set([...Object.keys(scripts), 'dev', 'env']);
  const named = pages.flatMap((page) =>
    [...readPage(page).matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)].map(([, name]) => name!),
  );
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(5);
});

it('finds a wrong command and a wrong option', () => {
  expect(wrong(['frobnicate'])).toBe('no such command');
  expect(wrong(['start', '--prot', '1'])).toBe('no option --prot');
  expect(wrong(['mcp', 'add', 'x', '--'])).toBeUndefined();
});
