/** `troupe channels add` and `remove` as a process, and the account that results. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import JSON5 from 'json5';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountFields, BUILT_IN_CHANNELS } from '../../runtime/config/schema/channels.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { startTelegramServer } from '../servers/telegram-server.ts';
import { announced, runProgram, startProgram } from './program.ts';

const fileOf = (data: string): unknown =>
  JSON5.parse(readFileSync(join(data, 'troupe.json5'), 'utf8'));
const TOKEN = ['--token', 'env:BOT_TOKEN'];

describe('troupe channels add', () => {
  it('adds an account that answers after the next start, and remove takes it away', async () => {
    const server = await startTelegramServer();
    onTestFinished(() => server.close());
    const bot = server.addBot('helper_bot');
    const data = scratchFolder();
    write(data, 'troupe.json5', "// mine\n{ log: { level: 'warn' } }");
    const env = { BOT_TOKEN: bot.token };
    const run = (...args: string[]) => runProgram([...args, '--data', data], { env });
    const added = await run('channels', 'add', 'telegram', ...TOKEN, '--api-url', server.apiUrl);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(added.stdout).toContain('telegram:main is in ');
    expect(added.stdout).toContain('troupe pairing approve CODE');
    const main = { token: { env: 'BOT_TOKEN' }, apiUrl: server.apiUrl };
    expect(fileOf(data)).toEqual({
      log: { level: 'warn' },
      channels: { telegram: { accounts: { main } } },
    });
    expect(readFileSync(join(data, 'troupe.json5.bak'), 'utf8')).toContain('// mine');

    const port = ['--port', String(await reservePort())];
    await announced(startProgram(['start', '--data', data, ...port, '--json'], { env }));
    await eventually(async () =>
      expect((await run('channels', ...port)).stdout).toMatch(/telegram:main +connected/),
    );
    bot.receive({ text: 'hello' });
    const code = await eventually(() => /\b[A-Z0-9]{8}\b/.exec(bot.shown(42)[0]?.text ?? '')![0]);
    expect(await run('pairing', 'approve', code, ...port)).toMatchObject({ code: 0 });
    bot.receive({ text: 'are you there?' });
    await eventually(() => expect(bot.shown(42).length).toBeGreaterThan(1));

    expect(await run('channels', 'remove', 'telegram')).toMatchObject({ code: 0, stderr: '' });
    expect(fileOf(data)).toEqual({
      log: { level: 'warn' },
      channels: { telegram: { accounts: {} } },
    });
    expect((await run('channels', 'remove', 'telegram')).stderr).toContain('is not in');
  }, 60_000);

  it('changes no file when the account exists, or a setting is wrong or missing', async () => {
    const data = scratchFolder();
    const add = (...args: string[]) =>
      runProgram(['channels', 'add', ...args, '--data', data], { env: { BOT_TOKEN: 'x' } });
    const failures = [
      [['telegram'], 'missing: token'],
      [['telegram', '--token', '123:secret'], 'env:NAME or file:PATH'],
      [['telegram', '--token', 'env:NOT_SET'], 'NOT_SET'],
      [['telegram', ...TOKEN, '--app-token', 'env:BOT_TOKEN'], 'have no appToken'],
      [['telegram', ...TOKEN, '--account', 'Two words'], 'Two words'],
      [['telegram', ...TOKEN, '--webhook-url', 'https://me.example'], 'set the other one'],
      [['slack', '--bot-token', 'env:BOT_TOKEN'], 'without one of them no message arrives'],
      [['icq', ...TOKEN], 'there is no channel icq; there are telegram'],
      [[], 'missing: Channel (telegram, slack'],
    ] as const;
    for (const [args, message] of failures) {
      const { code, stderr } = await add(...args);
      expect({ args, code, says: stderr.includes(message), stderr }).toMatchObject({
        code: 2,
        says: true,
      });
      expect(stderr).not.toContain('123:secret');
    }
    expect(existsSync(join(data, 'troupe.json5'))).toBe(false);
    expect((await add('telegram', ...TOKEN)).code).toBe(0);
    expect((await add('telegram', ...TOKEN)).stderr).toContain('already: change it there');
    expect((await add('telegram', ...TOKEN, '--account', 'two')).code).toBe(0);
  });

  it('says that a webhook account without a URL cannot send codes', async () => {
    const run = (...more: string[]) =>
      runProgram(
        ['channels', 'add', 'webhook', '--secret', 'env:KEY', ...more, '--data', scratchFolder()],
        { env: { KEY: 'k'.repeat(24) } },
      );
    expect((await run()).stdout).toContain('no code either: set `allowFrom` or `dmPolicy`');
    expect((await run('--url', 'https://me.example')).stdout).toContain('receives a code');
  });

  it('has an option for every setting of every channel', async () => {
    const { stdout } = await runProgram(['channels', 'add', '--help']);
    const fields = BUILT_IN_CHANNELS.flatMap((channel) => accountFields(channel));
    expect(fields.length).toBeGreaterThan(10);
    expect(stdout).toMatch(/--token <secret> +telegram: .*discord: /s);
    for (const { name } of fields)
      expect(stdout.replaceAll('-', '').toLowerCase()).toContain(name.toLowerCase());
  });
});
