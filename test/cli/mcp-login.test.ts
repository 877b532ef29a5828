/** `troupe mcp login` and `logout` as processes; the test is the browser. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from '../agent/mcp/authorization-server.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { runProgram, startProgram, type Started } from './program.ts';

async function openWith(options: AuthorizationServerOptions = {}) {
  const server = await startAuthorizationServer(options);
  const home = scratchFolder();
  const run = (...args: string[]) => runProgram(args, { home });
  const added = await run('mcp', 'add', 'test', server.url, '--allow-private');
  const start = (...args: string[]) => startProgram(['mcp', 'login', 'test', ...args], { home });
  const file = join(home, '.troupe', 'mcp', 'logins', 'default', 'test', 'login.json');
  return { server, home, run, start, added, file };
}

/** The address that the command prints. */
const pageOf = (started: Started): Promise<string> =>
  eventually(() => {
    const [page] = /http:\S+authorize\S+/.exec(started.stderr) ?? [];
    if (page === undefined) throw new Error(`no page: ${started.stdout}${started.stderr}`);
    return page;
  });

it('logs in by a browser, lists the login, and logs out', async () => {
  const { server, run, start, added, file } = await openWith();
  expect(added.stdout).toContain('troupe mcp login test');
  const listed = await run('mcp', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({ servers: [{ login: 'needed' }] });
  const doctor = await run('doctor');
  expect(doctor.stdout).toMatch(/test cannot be used: .*troupe mcp login test/);
  const started = start('--no-browser');
  const page = await pageOf(started);
  const forged = new URL(new URL(page).searchParams.get('redirect_uri')!);
  forged.search = '?code=a&state=<script>';
  const refused = await fetch(forged);
  expect(refused.status).toBe(400);
  expect(await refused.text()).not.toContain('<script>');
  const seen = await fetch(page);
  expect(await seen.text()).toContain('troupe is logged in to test');
  const { code, stdout, stderr } = await started.ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^Open this page in a browser on this machine, and log in:\n\n  http:\S+\n\nWaiting .*\n$/,
  );
  const login = JSON.parse(readFileSync(file, 'utf8')) as { tokens: { access_token: string } };
  expect(stdout + stderr).not.toContain(login.tokens.access_token);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await run('mcp', 'list')).stdout).toMatch(/logged in, renewed by itself/);
  expect((await run('mcp', 'logout', 'test')).stdout).toMatch(/has ended it/);
  expect(server.revoked).toHaveLength(1);
  const { code: failed, stderr: why } = await run('mcp', 'tools', 'test');
  expect(failed).not.toBe(0);
  expect(why).toContain('troupe mcp login test');
}, 120_000);

it('shows the refusal of an authorization server, without its markup', async () => {
  const answer = { code: '', error: 'access_denied', error_description: '<b>no</b>' };
  const { start } = await openWith({ answer });
  const started = start();
  const shown = await (await fetch(await pageOf(started))).text();
  expect(shown).toContain('access_denied: &lt;b&gt;no&lt;/b&gt;');
  const { code, stderr } = await started.ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain('access_denied');
}, 60_000);

it('ends when the login is not completed', async () => {
  const { start } = await openWith();
  const { code, stderr } = await start('--timeout', '1').ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain('the login was not completed in time');
}, 60_000);

it('two processes refresh at once, and one that is killed leaves a complete file', async () => {
  let victim: Started | undefined;
  const { server, home, run, start, file } = await openWith({
    onGrant: (body) => void (body.has('refresh_token') && victim?.child.kill('SIGKILL')),
  });
  const started = start();
  await fetch(await pageOf(started));
  await started.ended;
  server.valid.clear();
  const both = await Promise.all([run('mcp', 'tools', 'test'), run('mcp', 'tools', 'test')]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(server.tokenRequests.filter((body) => body.has('refresh_token'))).toHaveLength(1);
  server.valid.clear();
  victim = startProgram(['mcp', 'tools', 'test'], { home });
  await victim.ended;
  victim = undefined;
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ url: server.url });
  const { stderr } = await run('mcp', 'tools', 'test');
  expect(stderr).toMatch(/needs a new login.*troupe mcp login test/);
}, 120_000);

it('ends the login of a server that is removed; tenants have logins of their own', async () => {
  const { server, home, run, start, file } = await openWith();
  const path = join(home, '.troupe', 'troupe.json5');
  const test = { url: server.url, allowPrivate: true };
  const tenants = { acme: { principals: ['user:a'] } };
  writeFileSync(path, JSON.stringify({ mcp: { servers: { test } }, tenants }));
  const started = start('--no-browser');
  await fetch(await pageOf(started));
  await started.ended;
  expect((await run('mcp', 'tools', 'test')).code).toBe(0);
  const { stderr } = await run('mcp', 'tools', 'test', '--tenant', 'acme');
  expect(stderr).toContain('troupe mcp login test --tenant acme');
  const { stdout } = await run('mcp', 'remove', 'test');
  expect(stdout).toContain('Its login is removed. Its authorization server has ended it.');
  expect(server.revoked).toHaveLength(1);
  expect(existsSync(file)).toBe(false);
}, 120_000);
