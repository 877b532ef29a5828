/**
 * Channels of plugins that lie, crash or hang, with real processes; the relay example has the
 * contract.
 */
import { describe, expect, it } from 'vitest';
import { pluginChannel } from '../../installation/plugin-channels.ts';
import { Secret } from '../../runtime/config/index.ts';
import { eventually } from '../runtime/eventually.ts';
import { codeOf, opened } from '../agent/plugins/plugin-folder.ts';
import { AccountRun, pieceOf } from '../channels/messengers/account-run.ts';

const dm = { kind: 'dm', id: 'p1' } as const;
const settings = { config: {}, secrets: {} };

/** An account of a channel `line` whose functions have these bodies. */
async function lineWith(send: string, start = 'await new Promise(() => {})', more: object = {}) {
  const code = codeOf(
    'line',
    `channels: [{ id: 'line',
       async start(account, connection) { ${start} },
       async send(account, piece) { ${send} } }]`,
  );
  const channels = [{ id: 'line', charactersMax: 1_000, ...more }];
  const plugins = await opened({ line: { code, manifest: { channels } } });
  const { plugin, declared } = plugins.channels[0]!;
  const adapter = pluginChannel(plugin, declared);
  return { ...plugins, adapter, run: new AccountRun(adapter, settings) };
}

describe('a piece', () => {
  it('that the process had received when it ended has an unknown outcome', async () => {
    const { run } = await lineWith('process.exit(3)');
    expect(await run.send(pieceOf(dm, 'x'))).toEqual({
      status: 'unknown',
      error: { code: 'UNAVAILABLE', message: 'the plugin line ended with exit code 3' },
    });
  });

  it('that no process received was not sent', async () => {
    const { run, row } = await lineWith('process.exit(3)');
    await run.send(pieceOf(dm, 'x'));
    await eventually(() => expect(row('line').state).toBe('backing-off'));
    expect(await run.send(pieceOf(dm, 'y'))).toMatchObject({
      status: 'not_sent',
      error: { code: 'UNAVAILABLE', message: expect.stringContaining('waits for its next start') },
    });
  });

  it.each([
    ["throw new Error('lost')", /the plugin line: lost/],
    ["return 'sent'", /returned an outcome: /],
    ["return { status: 'sent', to: 'everyone' }", /\/to is not a known field/],
    ["return { status: 'not_sent', error: { code: 'NO', message: '' } }", /\/error\/code/],
  ])('has an unknown outcome after: %s', async (send, why) => {
    const { run } = await lineWith(send);
    const outcome = await run.send(pieceOf(dm, 'x'));
    expect(outcome).toMatchObject({
      status: 'unknown',
      error: { message: expect.stringMatching(why) },
    });
  });
});

describe('a connection', () => {
  it('ends when the process does, and may be opened again', async () => {
    const start = `await connection.connected('me', 'Me'); setTimeout(() => process.exit(5), 20);
      await new Promise(() => {})`;
    const { run } = await lineWith('', start);
    run.start();
    expect(await run.ended()).toMatchObject({
      isFinal: false,
      error: { code: 'UNAVAILABLE', message: 'the plugin line ended with exit code 5' },
    });
    expect([run.identity, run.name, run.account.isConnected()]).toEqual(['me', 'Me', false]);
  });

  // Bug: the refusal of such an event was an unhandled rejection, which ended troupe.
  it('that sends an invalid event without a question stores nothing', async () => {
    const start = `await connection.connected('me');
      const { writeSync } = await import('node:fs');
      for (let call = 1; call < 9; call++)
        writeSync(3, JSON.stringify({ type: 'event', call, event: { type: 'other' } }) + '\\n');
      await connection.typing({ kind: 'dm', id: 'p1' });
      return { error: 'ended', isFinal: true };`;
    const { run, row } = await lineWith('', start);
    run.start();
    expect(await run.ended()).toMatchObject({ error: { message: 'ended' } });
    expect(row('line').lastError?.message).toContain('returned an event');
    expect(row('line')).toMatchObject({ state: 'running', restarts: 0 });
  });

  // Bug: a connection is one call, and its 100,001st event ended the process.
  it('may have any number of events, as long as it waits for the replies', async () => {
    const start = `await connection.connected('me');
      for (let round = 0; round < 21; round++)
        await Promise.all(Array.from({ length: 5_000 }, (_, at) => connection.setPosition(at)));
      return { error: 'ended', isFinal: true };`;
    const { run, row } = await lineWith('', start);
    run.start();
    expect(await run.ended()).toMatchObject({ error: { message: 'ended' } });
    expect(row('line')).toMatchObject({ state: 'running', restarts: 0 });
  }, 60_000);

  const message = { key: 'k', kind: 'message', messageId: 'm', chat: dm, sender: { id: 'p1' } };
  const whole = { ...message, text: 'hi', mentionsAccount: false };

  it.each<[string, object, RegExp]>([
    ['a message without its text', { ...message, mentionsAccount: false }, /text is required/],
    ['an admission of its own', { ...whole, admitted: true }, /admitted is not a known field/],
    ['a key that is too long', { ...whole, key: 'k'.repeat(201) }, /at most 200 characters/],
  ])('with %s stores nothing, and the plugin receives the error', async (_, wrong, why) => {
    const start = `await connection.connected('me');
      try { await connection.messages([${JSON.stringify(wrong)}]); return { error: 'accepted' }; }
      catch (error) { return { error: error.message, isFinal: true }; }`;
    const { run, row } = await lineWith('', start);
    run.start();
    const { error, isFinal } = await run.ended();
    expect(isFinal).toBe(true);
    expect(error.message).toMatch(why);
    expect(run.deliveries).toEqual([]);
    expect(row('line').lastError?.message).toMatch(why);
  });

  it('passes on whether messages and positions were stored, and typing', async () => {
    const start = `await connection.connected('me');
      connection.typing(${JSON.stringify(dm)});
      await connection.messages([${JSON.stringify(whole)}]);
      await connection.setPosition({ after: 7 });
      await connection.setPosition('x'.repeat(3_000)).catch((error) => { throw error; });`;
    const { run } = await lineWith('', start);
    run.start();
    const { error } = await run.ended();
    expect(error.message).toContain('a position of more than 2048 characters');
    expect(run.deliveries).toEqual([whole]);
    expect(run.position).toEqual({ after: 7 });
    expect(run.typing).toEqual([dm]);
  });

  it('receives the secrets that the manifest names, and starts with no others', async () => {
    const start = `await connection.connected(account.name + ' ' + account.secrets.token);
      return { error: 'seen', isFinal: true };`;
    const { adapter } = await lineWith('', start, { accountSecrets: ['token'] });
    const secrets = { token: new Secret('of-the-account') };
    const run = new AccountRun(adapter, { ...settings, secrets });
    run.start();
    await run.ended();
    expect(run.identity).toBe('main of-the-account');
    const more = { ...settings, secrets: { ...secrets, other: new Secret('x') } };
    const refused = new AccountRun(adapter, more);
    refused.start();
    expect(await refused.ended()).toMatchObject({
      isFinal: true,
      error: { message: expect.stringContaining('secrets.other is not a secret') },
    });
  });
});
