/** The Markdown pages that readers see, and their code blocks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../tools/install.mjs';

export type Block = {
  readonly page: string;
  /** of its first line of code, from 1 */
  readonly line: number;
  /** `ts`, `sh`, ...; empty without one */
  readonly language: string;
  /** what follows the language: `title=src/main.ts` */
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  /** of `<!-- not run: REASON -->` before the block */
  readonly notRun: string | undefined;
};

export const readPage = (path: string): string => readFileSync(join(root, path), 'utf8');

/** README.md and docs/**, as paths of the repository. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
    .toSorted(),
];

const FENCE = /^( *)(```+)([^\s`]*) ?([^`]*)$/;
const REASON = /^<!-- not run: (.+) -->$/;

/** Fenced blocks in order; those in lists lose their indentation. */
export function blocksOf(page: string, text = readPage(page)): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let notRun: string | undefined;
  for (let n = 0; n < lines.length; n++) {
    const opened = FENCE.exec(lines[n]!);
    if (!opened) {
      if (lines[n]!.trim() !== '') notRun = REASON.exec(lines[n]!.trim())?.[1];
      continue;
    }
    const [, indent, fence, language, rest] = opened;
    const end = lines.indexOf(`${indent}${fence}`, n + 1);
    if (end === -1) throw new Error(`${page}:${n + 1} opens a block that does not end`);
    const pairs = rest!.split(' ').map((pair) => pair.split('=') as [string, string]);
    blocks.push({
      page,
      line: n + 2,
      language: language!,
      attributes: Object.fromEntries(pairs.filter(([name]) => name !== '')),
      text: lines
        .slice(n + 1, end)
        .map((line) => line.slice(indent!.length))
        .join('\n'),
      notRun,
    });
    notRun = undefined;
    n = end;
  }
  return blocks;
}
