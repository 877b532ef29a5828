/** docs/http.md: its commands are executed, and its table of errors is compared with the code. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ERRORS } from '../../protocols/errors.ts';
import { bundle, ensureBuilt } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { reservePort } from '../servers/reserve-port.ts';
import { startProgram } from '../cli/program.ts';
import { withoutPython } from '../protocols/sdk/python.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';

ensureBuilt();
const page = readFileSync(join(root, 'docs/http.md'), 'utf8');
const blocks = [...page.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, text]) => text!);

it('every command of the guide does what the guide says, executed in order', async (context) => {
  context.skip(withoutPython !== undefined, withoutPython);
  const home = scratchFolder();
  const port = String(await reservePort());
  const troupe = startProgram(['start', '--port', port], { home });
  await eventually(() => expect(troupe.stdout).toContain('http:'));
  const lines = [
    'set -euo pipefail',
    `troupe() { "${process.execPath}" "${bundle}" "$@"; }`,
    ...blocks.map((block) => block.replaceAll('18789', port)),
  ];
  const script = write(home, 'guide.sh', lines.join('\necho\n'));
  const env = { PATH: process.env['PATH'], HOME: home, NO_COLOR: '1' };
  const { stdout } = await promisify(execFile)('bash', [script], { cwd: home, env });
  const said = [
    // On a slow machine the first task takes longer than 2 s, and the response shows it as
    // unfinished.
    /"state":"(SUCCEEDED".*"text":"hello"|ACKED"|RUNNING")/,
    /event: conformance\.run_slowly\.accepted/,
    /event: conformance\.run_slowly\.done/,
    /^SUCCEEDED$/m,
    /^CANCELLED$/m,
    /^Ada$/m,
    /^100000$/m,
    /^troupe: envelopes/m,
    /^SUCCEEDED 3$/m,
    /^SUCCEEDED Grace$/m,
  ];
  let rest = stdout;
  for (const line of said) {
    expect(rest).toMatch(line);
    rest = rest.slice(rest.search(line));
  }
}, 60_000);

it('the table of errors has every code, with its status and whether a retry may succeed', () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (yes|no) \|/gm)];
  expect(rows.map(([, code, status, again]) => [code, Number(status), again === 'yes'])).toEqual(
    Object.entries(ERRORS).map(([code, { http, retriable }]) => [code, http, retriable]),
  );
});
