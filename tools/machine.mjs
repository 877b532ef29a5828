/**
 * The optional requirements of tests on the machine, and how to install them. Tests call
 * `chromiumPath()`; `npm test` prints what is missing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { debianMissing } from './debian.mjs';
import { natsMissing } from './nats.mjs';

const chromiumPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Path of a Chromium: `CHROMIUM_PATH`, or one of the usual places; undefined if there is none. */
export function chromiumPath() {
  const named = process.env.CHROMIUM_PATH;
  return [...(named ? [named] : []), ...chromiumPlaces].find((path) => existsSync(path));
}

/** One line for each missing requirement: which tests cannot run, and the remedy. */
export function missingHere() {
  const lines = [...natsMissing(), ...debianMissing()];
  if (!chromiumPath()) {
    lines.push(
      'tests of the web page need Chromium: apt-get install chromium, or set CHROMIUM_PATH',
    );
  }
  if (!hasBubblewrap()) {
    lines.push('tests of the sandbox need bubblewrap: apt-get install bubblewrap');
  } else if (!bubblewrapWorks()) {
    lines.push('tests of the sandbox need user namespaces: see docs/sandbox.md, On a machine');
  }
  return lines;
}

const hasBubblewrap = () =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'bwrap')));

/** It is installed and works: in a container it is often forbidden. */
const bubblewrapWorks = () => {
  const args = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', 'true'];
  return spawnSync('bwrap', args, { timeout: 5_000 }).status === 0;
};
