/**
 * docs/tutorial.md, followed literally: files are written, commands are typed into two terminals,
 * and what the page prints must appear. Packages are linked instead of installed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFailed, onTestFinished, test } from 'vitest';
import { ensureBuilt } from '../../tools/build.mjs';
import { ensureDeclarations } from '../../tools/declarations.mjs';
import { root } from '../../tools/install.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type Block, blocksOf } from './pages.ts';

const PAGE = 'docs/tutorial.md';
const STEP_MS = 60_000;

/** `npm install` links the packages; everything else is the real npm. */
const INSTALL = `
npm() {
  if [ "$1" = install ]; then [ -e node_modules ] || ln -s "$MODULES" node_modules
  else command npm "$@"; fi
}
`;

/** The packages of the tutorial's project, troupe from this checkout. */
function linkedModules(folder: string): string {
  const modules = join(folder, 'modules');
  const link = (target: string, path: string) => {
    mkdirSync(dirname(join(modules, path)), { recursive: true });
    symlinkSync(join(root, target), join(modules, path));
  };
  link('.', 'troupe');
  link('bin/troupe.js', '.bin/troupe');
  link('node_modules/.bin/tsc', '.bin/tsc');
  for (const name of ['xstate', '@sinclair/typebox', 'typescript', '@types/node'])
    link(`node_modules/${name}`, name);
  return modules;
}

/** A shell that reads commands, in a process group of its own. */
class Terminal {
  readonly shell: ChildProcess;
  printed = '';

  constructor(cwd: string, env: Record<string, string>) {
    this.shell = spawn('bash', ['--norc'], { cwd, env, detached: true });
    for (const stream of [this.shell.stdout!, this.shell.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (this.printed += text));
    this.type(INSTALL);
  }

  type(text: string): void {
    this.shell.stdin!.write(`${text}\n`);
  }

  /** Ctrl-C, and the end of the shell. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const { shell } = this;
    if (shell.exitCode !== null || shell.signalCode !== null) return;
    const ended = once(shell, 'exit');
    this.shell.stdin!.end();
    process.kill(-shell.pid!, signal);
    await ended;
  }
}

/** A line of the page's output as a pattern: `…` is any text. */
const pattern = (line: string): RegExp =>
  new RegExp(
    line
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*'),
  );

/** The lines in this order. */
function expectLines(printed: string, wanted: Block): void {
  let rest = printed;
  for (const line of wanted.text.split('\n')) {
    expect(rest, `${PAGE}:${wanted.line}`).toMatch(pattern(line));
    rest = rest.slice(rest.search(pattern(line)));
  }
}

test('the tutorial works as it says, from an empty folder', { timeout: 300_000 }, async () => {
  ensureBuilt();
  ensureDeclarations();
  const home = scratchFolder();
  const port = String(await reservePort());
  const withPort = (text: string) => text.replaceAll(/18_?790/g, port);
  const env = {
    PATH: process.env['PATH']!,
    HOME: home,
    NO_COLOR: '1',
    MODULES: linkedModules(home),
  };
  const second = new Terminal(home, env);
  let first: Terminal | undefined;
  onTestFinished(async () => {
    await Promise.all([first?.end('SIGKILL'), second.end('SIGKILL')]);
  });
  onTestFailed(() => console.error(`${second.printed}\n--- first terminal\n${first?.printed}`));
  const shop = join(home, 'shop');

  let seen = 0;
  let current = second;
  for (const block of blocksOf(PAGE).filter(({ notRun }) => notRun === undefined)) {
    const { attributes, language, line } = block;
    const text = withPort(block.text);
    if (attributes['title']) writeFileSync(join(shop, attributes['title']), `${text}\n`);
    else if (language === 'text') {
      const wanted = { ...block, text };
      await eventually(() => expectLines(current.printed.slice(seen), wanted), STEP_MS);
    } else if (attributes['terminal'] === '1') {
      await first?.end('SIGINT');
      // That of `troupe init`, until the page replaces it.
      const main = join(shop, 'src', 'main.ts');
      writeFileSync(main, withPort(readFileSync(main, 'utf8')));
      current = first = new Terminal(shop, env);
      seen = 0;
      first.type(text);
    } else {
      current = second;
      seen = second.printed.length;
      second.type(`${text}\necho "line ${line}: $?"`);
      const done = new RegExp(`^line ${line}: (\\d+)$`, 'm');
      await eventually(() => expect(second.printed.slice(seen)).toMatch(done), STEP_MS);
      expect(done.exec(second.printed.slice(seen))?.[1], `${PAGE}:${line}`).toBe('0');
    }
  }
});
