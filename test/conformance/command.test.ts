/** `troupe conformance` as a user runs it: credentials, report, exit code. */
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { CONFORMANCE_TENANT } from '../../conformance/agent/actions.ts';
import type { Finding } from '../../conformance/suite.ts';
import { runProgram } from '../cli/program.ts';
import { TOKEN } from '../kill/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { openBrokenServer } from './breakers/broken-server.ts';
import { discoveryBreakers } from './breakers/refusals.ts';
import { embeddedSubject, faultsIn, ownOf, type Subject } from './subject.ts';

const TENANT = ['--tenant', CONFORMANCE_TENANT];
let subject: Subject;

beforeAll(async () => {
  subject = await embeddedSubject();
  return () => subject.close();
}, 60_000);

const run = (...args: string[]) => {
  const env = { TROUPE_HOME: subject.data, TROUPE_TOKEN: TOKEN };
  return runProgram(['conformance', ...args], { env });
};

/** A command for the gateway of the subject's data folder. */
const runThere = (...args: string[]) => {
  const env = { TROUPE_PORT: new URL(subject.origin).port, TROUPE_TOKEN: TOKEN };
  return runProgram([...args, '--data', subject.data], { env });
};

it('creates credentials for the gateway of its data folder, and revokes the key', async () => {
  const keys = async () => {
    const { stdout } = await runThere('keys', 'list', '--json', ...TENANT);
    const rows = (JSON.parse(stdout) as { keys: { kid: string; status: string }[] }).keys;
    return rows.filter(({ status }) => status === 'active').map(({ kid }) => kid);
  };
  const before = await keys();
  const asked = ['--only', 'security', '--only', 'version', '--json'];
  const { code, stdout, stderr } = await runThere('conformance', ...asked);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = JSON.parse(stdout) as { transport: string; resent: number; findings: Finding[] };
  expect(report).toMatchObject({ transport: 'http', resent: 0 });
  expect(faultsIn(report.findings)).toEqual([]);
  expect(report.findings.map(({ id }) => id)).toContain('security.unknown-key');
  expect(before.length).toBeGreaterThan(0);
  expect(await keys()).toEqual(before);
}, 60_000);

it('reports broken and skipped rules of another endpoint, with exit code 1', async () => {
  const breaker = discoveryBreakers.find(({ breaks }) => breaks === 'discovery.acp')!;
  const broken = await openBrokenServer(subject.origin, breaker.fault(ownOf(subject)));
  onTestFinished(() => broken.close());
  const profile = write(
    scratchFolder(),
    'theirs.json',
    '{ "actions": { "echo": "conformance.echo_payload" }, "versions": {} }',
  );
  const given = ['--bearer', subject.credentials.token, '--profile', profile];
  const only = ['discovery', 'security', 'order.gap'].flatMap((id) => ['--only', id]);
  const { code, stdout } = await run(broken.url, ...given, ...only);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^BROKEN +discovery\.acp .*\n +both documents agree; received: \{"mcp":/m);
  expect(stdout).toMatch(/^kept +order\.gap /m);
  expect(stdout).toMatch(/^skipped +security\.sealed .*\n.*the profile names no action for/m);
  expect(stdout).toMatch(/^skipped +security\.signed .*\n.*--external-key/m);
  expect(stdout).toMatch(/^skipped +security\.foreign-task .*\n.*--stranger-token/m);
  expect(stdout).toMatch(/\n8 kept, 1 broken, 9 skipped\n$/);
}, 60_000);

it('runs as an external program with the given key and token', async () => {
  const out = join(scratchFolder(), 'partner.jwk');
  await runThere('keys', 'create', '--sub', 'partner', '--out', out, ...TENANT);
  const partner = ['--sub', 'partner', '--roles', 'writer', '--external'];
  const external = await runThere('token', ...partner, ...TENANT);
  const bearer = ['--bearer', subject.credentials.token];
  const given = ['--external-token', external.stdout.trim(), '--external-key', out];
  const only = ['--only', 'security.signed'];
  const { stdout, code } = await run(subject.origin, ...bearer, ...given, ...only);
  expect(stdout).toContain('1 kept, 0 broken, 0 skipped');
  expect(code).toBe(0);
}, 60_000);

it('reports an unknown URL scheme and an invalid profile, with exit code 2', async () => {
  const strange = await run('ftp://127.0.0.1', '--bearer', 'x');
  expect(strange).toMatchObject({ code: 2 });
  expect(strange.stderr).toContain('ftp://127.0.0.1');
  const profile = write(scratchFolder(), 'theirs.json', '{ "actions": { "eko": "x" } }');
  const wrong = await run(subject.origin, '--bearer', 'x', '--profile', profile);
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.stderr).toContain('eko');
}, 60_000);
