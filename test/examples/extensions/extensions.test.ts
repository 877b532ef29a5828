/** The example plugins, installed and used as their README says, with the built program. */
import { cpSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { announced, runProgram, startProgram } from '../../cli/program.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { openRelayServer } from '../../servers/relay-server.ts';
import { reservePort } from '../../servers/reserve-port.ts';

const examples = join(import.meta.dirname, '../../../examples/extensions');

/** A user with one of the plugins and a configuration. */
async function userWith(id: string, config: object) {
  const home = scratchFolder();
  cpSync(join(examples, id), join(home, '.troupe/extensions', id), { recursive: true });
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const port = String(await reservePort());
  const env = { TROUPE_PORT: port };
  const run = (...args: string[]) => runProgram(args, { home, env });
  const start = async () => {
    const program = startProgram(['start', '--json', '--port', port], { home });
    await announced(program);
    return program;
  };
  return { home, run, start };
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

it('faq: a model and a hook from a plugin answer a message of a user', async () => {
  const { run, start } = await userWith('faq', {
    agents: { agents: [{ id: 'main', model: 'faq/list' }] },
    plugins: {
      entries: {
        faq: {
          config: {
            answers: [
              { question: 'When do you open?', answer: 'We open at nine.' },
              { question: 'Where are you?', answer: 'In the old mill.' },
            ],
            signature: '(from our list)',
          },
        },
      },
    },
  });
  expect(await run('plugins', 'check', 'faq')).toMatchObject({ code: 0, stderr: '' });
  const refused = await run('config', 'check');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('There is no model faq/list');
  const enabled = await run('plugins', 'enable', 'faq');
  expect(enabled.stdout).toContain('faq is enabled; it may use the network.');
  const program = await start();
  await eventually(async () => {
    const listed = await run('plugins');
    expect(listed.stdout).toMatch(/faq +1\.0\.0 +running .* message_sending faq\/\*/);
  });
  const { stdout } = await run('agent', '-m', 'Please: where are you?');
  expect(stdout).toContain('In the old mill.\n\n(from our list)');
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
}, 60_000);

it('relay: a message of a person is answered in its chat, and the session is kept', async () => {
  const server = await openRelayServer();
  onTestFinished(() => server.close());
  const account = server.addAccount();
  const { run, start } = await userWith('relay', {
    channels: {
      relay: {
        accounts: {
          main: {
            dmPolicy: 'open',
            config: { baseUrl: server.url },
            secrets: { token: account.token },
          },
        },
      },
    },
    plugins: { entries: { relay: { enabled: true } } },
  });
  const program = await start();
  const say = (messageId: string, text: string) =>
    account.receive({
      key: messageId,
      kind: 'message',
      messageId,
      chat: { kind: 'dm', id: 'ada' },
      sender: { id: 'ada' },
      text,
      mentionsAccount: false,
    });
  await eventually(async () => {
    expect((await run('channels')).stdout).toMatch(/relay:main +.*connected/);
  });
  say('m1', 'call calculate {"expression": "6 * 7"}');
  await eventually(() => {
    const texts = [...account.posted.values()].map(({ text }) => text);
    expect(texts.join()).toContain('42');
  });
  expect([...account.posted.values()][0]?.chat).toMatchObject({ kind: 'dm', id: 'ada' });
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
}, 60_000);

it('tracker: an agent creates a ticket with the secret and settings of the plugin', async () => {
  const requests: object[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { url, headers } = request;
      requests.push({ url, token: headers.authorization, key: headers['idempotency-key'], body });
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify(url === '/tickets' ? { number: 7 } : [{ number: 7, title: 'Rust' }]),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { run, start } = await userWith('tracker', {
    plugins: {
      entries: {
        tracker: {
          enabled: true,
          config: { baseUrl, project: 'bridge' },
          secrets: { token: { command: ['printf', 'token-of-the-tracker'] } },
        },
      },
    },
  });
  const program = await start();
  const create = await run('agent', '-m', 'call tracker_create {"title": "Rust"}', '--json');
  expect(create.stdout).toContain('{\\"number\\":7}');
  const find = await run('agent', '-m', 'call tracker_find {"text": "Ru"}', '--json');
  expect(find.stdout).toContain('#7 Rust');
  expect(requests).toMatchObject([
    {
      url: '/tickets',
      token: 'Bearer token-of-the-tracker',
      key: expect.stringMatching(/./),
      body: '{"project":"bridge","title":"Rust","text":""}',
    },
    { url: '/tickets?text=Ru' },
  ]);
  program.child.kill('SIGTERM');
  expect((await program.ended).stderr).not.toContain('token-of-the-tracker');
}, 60_000);
