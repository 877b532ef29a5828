/**
 * The program as a plain container runs it: where no boundary of sandboxed commands works, its log,
 * its operation for the page and doctor name the file to add; where one works, none of them does.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { containerRemedy } from '../../installation/sandbox-notice.ts';
import { findSandbox } from '../../agent/sandbox/choose.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { announced, runProgram, startProgram } from '../cli/program.ts';

const TOKEN = 'token-of-this-test-0123456789';
const FILE = 'deploy/sandbox.yml';

/** Only node: no engine of containers. */
function onlyNode(): string {
  const folder = scratchFolder();
  symlinkSync(process.execPath, join(folder, 'node'));
  return folder;
}

/** What bwrap prints under the seccomp rules of an engine. */
function pathWithForbiddenNamespaces(): string {
  const folder = onlyNode();
  const text =
    'No permissions to create new namespace, likely because the kernel does not allow it';
  chmodSync(write(folder, 'bwrap', `#!/bin/sh\necho 'bwrap: ${text}' >&2\nexit 1\n`), 0o755);
  return folder;
}

/** A bwrap whose user namespaces the kernel refuses, as in a container without grants. */
function pathWithRefusedNamespaces(): string {
  const folder = onlyNode();
  const refused = `#!/bin/sh
exec /usr/bin/unshare --user --map-root-user /bin/sh -c \\
  'echo 0 > /proc/sys/user/max_user_namespaces; exec /usr/bin/bwrap "$@"' bwrap "$@"
`;
  chmodSync(write(folder, 'bwrap', refused), 0o755);
  return folder;
}

async function environmentOf(path: string) {
  const home = scratchFolder();
  const env = {
    TROUPE_HOME: home,
    TROUPE_PORT: String(await reservePort()),
    TROUPE_TOKEN: TOKEN,
    PATH: path,
    container: 'docker',
  };
  return { home, env };
}

type Cluster = { readonly notices: readonly string[] };
const noticesAt = async (port: string): Promise<readonly string[]> => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await fetch(`http://127.0.0.1:${port}/v1/cluster`, { headers });
  return ((await response.json()) as Cluster).notices;
};

const mayRefuse = ((): boolean => {
  try {
    execFileSync('unshare', ['--user', '--map-root-user', 'true'], { stdio: 'ignore' });
    return execFileSync('bwrap', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

const cases: readonly (readonly [string, () => string, boolean])[] = [
  ['the engine forbids user namespaces', pathWithForbiddenNamespaces, true],
  ['the kernel refuses user namespaces', pathWithRefusedNamespaces, mayRefuse],
];

for (const [what, pathOf, canRun] of cases)
  it.skipIf(!canRun)(
    `names the file to add when ${what}`,
    async () => {
      const { home, env } = await environmentOf(pathOf());
      const started = startProgram(['start', '--json'], { home, env });
      await announced(started, 60_000);
      await eventually(() => expect(started.stderr).toContain(FILE));
      expect(started.stderr).toContain('sandboxed sessions cannot run commands');
      expect(await noticesAt(env.TROUPE_PORT)).toEqual([expect.stringContaining(FILE)]);
      const { stdout } = await runProgram(['doctor'], { home, env });
      expect(stdout).toMatch(/warn {2}sandbox: sandboxed sessions cannot run commands here/);
      expect(stdout).toContain(FILE);
    },
    90_000,
  );

const found = await findSandbox();
it.skipIf(!('boundary' in found) || process.getuid?.() !== 0)(
  'says nothing where a sandbox works for a user without privileges, and doctor ran a command in it',
  async () => {
    const { home, env } = await environmentOf(process.env['PATH'] ?? '');
    mkdirSync(home, { recursive: true });
    chownSync(home, 65_534, 65_534);
    chmodSync(home, 0o755);
    const { stdout } = await runProgram(['doctor'], { home, env });
    expect(stdout).toMatch(
      /ok {4}sandbox: commands of sandboxed sessions run in (bubblewrap|docker)/,
    );
    expect(stdout).not.toContain(FILE);
  },
  60_000,
);

it('names what to change where it runs', () => {
  expect(containerRemedy({ container: 'docker' })).toContain(FILE);
  const remedy = containerRemedy({ KUBERNETES_SERVICE_HOST: '10.0.0.1' });
  expect(remedy).not.toContain(FILE);
  const page = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
  for (const setting of ['hostUsers: false', ...remedy!.match(/securityContext: \{.*? \} \}/)!])
    expect(page).toContain(setting);
});
