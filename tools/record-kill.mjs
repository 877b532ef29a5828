/**
 * `node tools/record-kill.mjs`: records docs/images/kill.svg, the moving picture of the README. It
 * really runs troupe and a client, kills troupe with SIGKILL in the middle of an answer, and starts
 * it again. It fails if the answer is not the one that an undisturbed run gives.
 *
 * The picture shows what both programs printed at the times when they did; pauses of more than
 * PAUSE_MS are shortened to that.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundle, ensureBuilt } from './build.mjs';
import { root } from './install.mjs';

const PAUSE_MS = 1_200;
/** The picture stays at its end for so long, then it begins again. */
const REST_MS = 5_000;
const WORDS_PER_SECOND = 12;
/** Characters of the answer after which troupe is killed. */
const KILL_AFTER = 90;
const DEADLINE_MS = 60_000;

const COLUMNS = 58;
const CHARACTER_WIDTH = 7.8;
const LINE_HEIGHT = 18;
const LINES = 9;

const home = mkdtempSync(join(tmpdir(), 'troupe-record-'));
const children = new Set();
/** What was printed: pane 0 is the server, pane 1 the client. */
const events = [];
const print = (pane, text, style = '') => events.push({ at: Date.now(), pane, text, style });

function run(args) {
  const child = spawn(process.execPath, [bundle, ...args], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      NO_COLOR: '1',
      TROUPE_OFFLINE_TOKENS_PER_SECOND: String(WORDS_PER_SECOND),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.add(child);
  child.stdout.setEncoding('utf8');
  return child;
}

async function until(what, isTrue) {
  for (const end = Date.now() + DEADLINE_MS; !isTrue(); await sleep(20))
    if (Date.now() > end) throw new Error(`${what} did not happen within ${DEADLINE_MS} ms`);
}

/** Starts troupe; its URL is printed without the token. */
async function start(port) {
  const child = run(['start', '--json', '--port', String(port)]);
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  await until('the start', () => text.includes('\n'));
  const { url, version } = JSON.parse(text);
  print(0, `troupe ${version} is ready: ${url.replace(/#.*/, '')}`);
  return { child, port: Number(new URL(url).port) };
}

/** Sends a message; `answer()` is what was printed so far. */
function ask(onText) {
  const child = run(['agent', '--message', 'help', '--session', `s${children.size}`]);
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    onText(chunk);
  });
  let code;
  child.on('exit', (ended) => (code = ended));
  return { answer: () => text, ended: () => code };
}

async function record() {
  print(0, '$ npx troupe start', 'command');
  const first = await start(0);
  const undisturbed = ask(() => {});
  await until('the first answer', () => undisturbed.ended() === 0);
  print(1, "$ npx troupe agent -m 'help'", 'command');
  const asked = ask((chunk) => print(1, chunk, 'answer'));
  await until('the answer', () => asked.answer().length > KILL_AFTER);
  first.child.kill('SIGKILL');
  print(0, 'Killed (kill -9, in the middle of the answer)', 'killed');
  await sleep(PAUSE_MS);
  print(0, '$ npx troupe start', 'command');
  await start(first.port);
  await until('the rest of the answer', () => asked.ended() !== undefined);
  if (asked.ended() !== 0 || asked.answer() !== undisturbed.answer())
    throw new Error(`the answer after the kill is another one: ${asked.answer()}`);
}

/** Times in the picture, milliseconds from its beginning. */
function timed() {
  let at = 0;
  let before = events[0].at;
  return events.map((event) => {
    at += Math.min(event.at - before, PAUSE_MS);
    before = event.at;
    return { ...event, at };
  });
}

/**
 * Pieces of lines with their places: a text continues where the one before it in its pane ended.
 */
function laidOut(all) {
  const cursors = [
    { line: 0, column: 0 },
    { line: 0, column: 0 },
  ];
  return all.flatMap(({ at, pane, text, style }) => {
    const cursor = cursors[pane];
    if (style !== 'answer' && cursor.column > 0) newLine(cursor);
    const pieces = [];
    for (const word of text.replaceAll('\n', ' ').split(/(?<= )/)) {
      if (cursor.column + word.trimEnd().length > COLUMNS) newLine(cursor);
      pieces.push({ at, pane, style, text: word, ...cursor });
      cursor.column += word.length;
    }
    if (style === 'command') newLine(cursor);
    return pieces;
  });
}

function newLine(cursor) {
  cursor.line++;
  cursor.column = 0;
}

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function picture() {
  const all = timed();
  const lengthMs = all.at(-1).at + REST_MS;
  const paneWidth = COLUMNS * CHARACTER_WIDTH + 32;
  const height = LINES * LINE_HEIGHT + 56;
  const times = [...new Set(all.map(({ at }) => at))];
  const keyframes = times.map((at, n) => {
    const percent = ((at / lengthMs) * 100).toFixed(2);
    return `@keyframes t${n}{0%,${percent}%{opacity:0}${(Number(percent) + 0.01).toFixed(2)}%,100%{opacity:1}}.t${n}{animation-name:t${n}}`;
  });
  const texts = laidOut(all).map(({ at, pane, style, text, line, column }) => {
    const x = (16 + pane * (paneWidth + 12) + column * CHARACTER_WIDTH).toFixed(1);
    const y = 56 + line * LINE_HEIGHT;
    return `<text class="t${times.indexOf(at)} ${style}" x="${x}" y="${y}" xml:space="preserve">${escaped(text)}</text>`;
  });
  const frames = ['troupe', 'a client'].map((title, pane) => {
    const x = pane * (paneWidth + 12);
    return `<rect x="${x}" width="${paneWidth}" height="${height}" rx="8"/><text class="title" x="${x + 16}" y="24">${title}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${paneWidth * 2 + 12} ${height}" role="img" aria-labelledby="title">
<title id="title">troupe is killed in the middle of an answer and started again; the answer continues</title>
<!-- Recorded by tools/record-kill.mjs. -->
<style>rect{fill:#16181d}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dae0;animation-duration:${lengthMs}ms;animation-iteration-count:infinite}
.title{fill:#8b919d;animation:none}.command{fill:#7fd1ae}.killed{fill:#ff7a70;font-weight:bold}
@media (prefers-reduced-motion:reduce){text{animation:none}}
${keyframes.join('\n')}</style>
${frames.join('\n')}
${texts.join('\n')}
</svg>
`;
}

ensureBuilt();
try {
  await record();
  const folder = join(root, 'docs', 'images');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'kill.svg');
  writeFileSync(file, picture());
  console.log(file);
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
}
