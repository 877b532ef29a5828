/**
 * The contract of a channel adapter. Every adapter passes it with its real SDK against a local
 * server that has the service's protocol: nothing lost, nothing doubled, or an outcome that is
 * reported as unknown.
 *
 * An adapter describes its service as a `Messenger`. What the service does not have is absent
 * there, and its tests are skipped.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelAdapter } from '../../../channels/messengers/adapter.ts';
import { CHANNEL_NAME, type ChatRef, type InboundMessage } from '../../../protocols/channel.ts';
import { eventually } from '../../runtime/eventually.ts';
import { fileContract } from './file-contract.ts';
import type { Messenger } from './messenger.ts';
import { AccountRun, pieceOf, startWebhookHost, type WebhookHost } from './account-run.ts';

/** @param open a new server with one account whose webhook, if it has one, is at `hookUrl` */
export function channelContract(
  name: string,
  { abilities }: Pick<ChannelAdapter, 'abilities'>,
  open: (hookUrl: string) => Promise<Messenger>,
): void {
  describe(`the contract of channels: ${name}`, () => {
    let host: WebhookHost;
    let messenger: Messenger;
    let runs: AccountRun[] = [];

    beforeEach(async () => {
      host = await startWebhookHost();
      messenger = await open(host.url);
      runs = [];
    });
    afterEach(async () => {
      await Promise.all(runs.map((run) => run.stop()));
      await messenger.close();
      await host.close();
    });

    /** A process with this account; `from`: what an earlier one has stored. */
    const runOf = (of: Messenger = messenger, from?: AccountRun): AccountRun => {
      const run = new AccountRun(of.adapter, of.settings);
      if (from) {
        run.position = from.position;
        run.identity = from.identity;
        for (const [key, message] of from.stored) run.stored.set(key, message);
      }
      runs.push(run);
      host.serve(run.account);
      return run;
    };
    const connected = (from?: AccountRun) => runOf(messenger, from).connected();
    /** not started, where the service allows it */
    const sender = async () => (messenger.needsConnection ? connected() : runOf());

    const texts = (messages: readonly InboundMessage[]) => messages.map(({ text }) => text);
    const countOf = (chat: ChatRef, text: string) =>
      messenger.shown(chat).filter((one) => one.text === text).length;

    test('the channel has a name, and an account connects with its identity and stops', async () => {
      expect(messenger.adapter.id).toMatch(new RegExp(CHANNEL_NAME));
      const run = await connected();
      expect(run.identity).toMatch(/^.{1,128}$/);
      expect(run.connections).toBe(1);
      expect(run.account.getStatus().isConnected).toBe(true);
      await run.stop();
      await run.stop();
      expect(run.end).toMatchObject({ isFinal: false });
      expect(run.account.isConnected()).toBe(false);
    });

    test('a message arrives with its chat, sender, text and id', async () => {
      const run = await connected();
      for (const chat of [messenger.dm, messenger.group, messenger.thread]) {
        if (!chat) continue;
        const text = `hello ${chat.id} ${chat.thread ?? ''} 🙂`;
        const messageId = messenger.write(chat, text);
        const received = await eventually(() => {
          const found = [...run.stored.values()].find((one) => one.text === text);
          expect(found).toBeDefined();
          return found!;
        });
        expect(received).toMatchObject({ kind: 'message', messageId, text, chat });
        expect(received.sender.id).toMatch(/^.{1,128}$/);
        expect(received.key.length).toBeLessThanOrEqual(200);
      }
    });

    test.skipIf(!abilities.threads)('a thread has the id of its chat', () => {
      expect(messenger.thread).toMatchObject({ id: messenger.group!.id });
    });

    test('100 messages of two chats arrive once each and in the order of their chat', async () => {
      const run = await connected();
      const chats = [messenger.dm, messenger.group ?? messenger.dm];
      const sent = Array.from({ length: 100 }, (_, n) => `message ${n}`);
      sent.forEach((text, n) => messenger.write(chats[n % 2]!, text));
      await run.received(100);
      for (const chat of new Set(chats)) {
        const own = [...run.stored.values()].filter((one) => one.chat.id === chat.id);
        const expected = sent.filter((_, n) => chats[n % 2] === chat);
        expect(texts(own)).toEqual(expected);
      }
    });

    test('a message that is delivered again has the same key', async () => {
      const run = await connected();
      messenger.write(messenger.dm, 'once');
      await run.received(1);
      messenger.redeliver();
      messenger.write(messenger.dm, 'after it');
      expect(texts(await run.received(2))).toEqual(['once', 'after it']);
    });

    test('lost update: a message that is not stored is delivered again', async () => {
      const run = await connected();
      let attempts = 0;
      run.beforeStore = async () => void attempts++;
      run.isUnavailable = true;
      messenger.write(messenger.dm, 'not lost');
      await eventually(() => expect(attempts).toBeGreaterThan(0));
      run.isUnavailable = false;
      messenger.write(messenger.dm, 'after it');
      const received = texts(await run.received(2));
      const expected = ['not lost', 'after it'];
      if (messenger.mayReorder) expect(new Set(received)).toEqual(new Set(expected));
      else expect(received).toEqual(expected);
    });

    test('what is written while the account is away arrives after the restart', async () => {
      const first = await connected();
      messenger.write(messenger.dm, 'one');
      await first.received(1);
      host.serve(undefined);
      await first.stop();
      messenger.write(messenger.dm, 'two');
      const second = await connected(first);
      messenger.write(messenger.dm, 'three');
      expect(texts(await second.received(3))).toEqual(['one', 'two', 'three']);
    });

    test('a position of another identity is not used', async () => {
      const run = runOf();
      run.position = { offset: 999_999_999, at: Date.now() };
      run.identity = 'someone else';
      await run.connected();
      messenger.write(messenger.dm, 'heard');
      expect(texts(await run.received(1))).toEqual(['heard']);
    });

    test('positions are JSON of at most 2,048 characters', async () => {
      const run = await connected();
      for (let n = 0; n < 60; n++) messenger.write(messenger.dm, `message ${n}`);
      await run.received(60);
      expect((JSON.stringify(run.position) ?? '').length).toBeLessThanOrEqual(2_048);
    });

    test('two accounts at one service do not mix', async () => {
      const other = messenger.another();
      const [mine, theirs] = [await connected(), new AccountRun(other.adapter, other.settings)];
      runs.push(theirs);
      await theirs.connected();
      host.serve(mine.account);
      messenger.write(messenger.dm, 'mine');
      await mine.received(1);
      host.serve(theirs.account);
      other.write(other.dm, 'theirs');
      await theirs.received(1);
      expect(texts([...mine.stored.values()])).toEqual(['mine']);
      expect(texts([...theirs.stored.values()])).toEqual(['theirs']);
      expect(mine.identity).not.toBe(theirs.identity);
    });

    test('a mention is recognised, and a message without one too', async (context) => {
      if (!messenger.mention || !messenger.group) return context.skip('has no mentions');
      const run = await connected();
      messenger.write(messenger.group, 'nothing');
      messenger.mention(messenger.group);
      const [plain, mention] = await run.received(2);
      expect(plain?.mentionsAccount).toBe(false);
      expect(mention?.mentionsAccount).toBe(true);
    });

    test('a sent message is shown once, with its id, in its thread and as a reply', async () => {
      const run = await connected();
      const written = messenger.write(messenger.dm, 'question');
      await run.received(1);
      for (const chat of [messenger.dm, messenger.group, messenger.thread]) {
        if (!chat) continue;
        const replyTo = chat === messenger.dm ? { replyTo: written } : {};
        const outcome = await run.send(pieceOf(chat, 'an answer & more', replyTo));
        const shown = messenger.shown(chat);
        expect(shown).toHaveLength(1);
        if (outcome.status === 'sent' && outcome.messageId !== undefined)
          expect(outcome.messageId).toBe(shown[0]?.id);
        expect(outcome.status).toBe('sent');
      }
    });

    test('an account that is not started in this process sends, or says why not', async () => {
      if (messenger.needsConnection) {
        const outcome = await runOf().send(pieceOf(messenger.dm, 'from elsewhere'));
        expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'UNAVAILABLE' } });
        expect(outcome).not.toHaveProperty('isFinal');
        return expect(messenger.shown(messenger.dm)).toEqual([]);
      }
      expect(await runOf().send(pieceOf(messenger.dm, 'from elsewhere'))).toMatchObject({
        status: 'sent',
      });
      expect(countOf(messenger.dm, 'from elsewhere')).toBe(1);
    });

    test('a rate limit is reported with the time that the service asks for', async () => {
      const run = await sender();
      messenger.failSend('rateLimit');
      const outcome = await run.send(pieceOf(messenger.dm, 'limited'));
      expect(outcome).toMatchObject({
        status: 'not_sent',
        error: { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: messenger.rateLimitMs },
      });
      expect(outcome).not.toHaveProperty('isFinal');
      expect(countOf(messenger.dm, 'limited')).toBe(0);
    });

    for (const fault of ['errorBefore', 'errorAfter', 'cutBefore', 'cutAfter'] as const) {
      test(`doubled reply: after ${fault} a piece is sent once, or reported as unknown`, async () => {
        const run = await connected();
        messenger.write(messenger.dm, 'question');
        await run.received(1);
        messenger.failSend(fault);
        const piece = pieceOf(messenger.dm, 'an answer');
        let outcome = await run.send(piece);
        const posted = () => countOf(messenger.dm, 'an answer');
        if (outcome.status === 'sent') expect(posted()).toBe(1);
        if (outcome.status === 'not_sent') expect(posted()).toBe(0);
        if (outcome.status === 'unknown' && run.account.reconcile) {
          outcome = await run.account.reconcile(piece, AbortSignal.timeout(20_000));
          expect(outcome.status).toBe(posted() === 1 ? 'sent' : 'not_sent');
        }
        const mayRepeat = abilities.idempotentSendMs !== undefined || outcome.status === 'not_sent';
        if (!mayRepeat) return expect(posted()).toBe(fault.endsWith('After') ? 1 : 0);
        if (messenger.needsConnection && fault === 'cutBefore') await run.reconnected();
        await expect(run.send({ ...piece, attempt: 2 })).resolves.toMatchObject({ status: 'sent' });
        expect(posted()).toBe(1);
      });
    }

    fileContract(abilities, async () => ({ messenger, run: await sender() }));

    test('a refusal that another attempt would repeat is final', async () => {
      const run = await sender();
      messenger.failSend('refuse');
      const outcome = await run.send(pieceOf(messenger.dm, 'refused'));
      expect(outcome).toMatchObject({ status: 'not_sent', isFinal: true });
      expect(countOf(messenger.dm, 'refused')).toBe(0);
    });

    test('markup that the service cannot read is sent as plain text', async (context) => {
      if (messenger.unreadable === undefined) return context.skip('refuses no markup');
      const piece = pieceOf(messenger.dm, messenger.unreadable, { plain: 'readable' });
      expect(await runOf().send(piece)).toMatchObject({ status: 'sent' });
      expect(countOf(messenger.dm, 'readable')).toBe(1);
    });

    test('the longest piece is accepted', async () => {
      const text = 'x'.repeat(abilities.charactersMax);
      const run = await sender();
      expect(await run.send(pieceOf(messenger.dm, text))).toMatchObject({ status: 'sent' });
      expect(countOf(messenger.dm, text)).toBe(1);
    });

    test.skipIf(!abilities.edit)('an edit replaces the text and may be repeated', async () => {
      const run = await connected();
      const sent = await run.send(pieceOf(messenger.dm, 'first'));
      if (sent.status !== 'sent' || !sent.messageId) throw new Error('an edit needs an id');
      const piece = pieceOf(messenger.dm, 'second');
      for (let n = 0; n < 2; n++) {
        const edited = await run.account.edit!(sent.messageId, piece, AbortSignal.timeout(20_000));
        expect(edited).toMatchObject({ status: 'sent' });
      }
      expect(texts(messenger.shown(messenger.dm) as never)).toEqual(['second']);
    });

    test('typing never fails, also when the service does not know the chat', async (context) => {
      const { account } = runOf();
      if (!account.typing) return context.skip('shows no typing');
      const signal = AbortSignal.timeout(20_000);
      await expect(account.typing(messenger.dm, signal)).resolves.toBeUndefined();
      await expect(account.typing({ kind: 'dm', id: '999' }, signal)).resolves.toBeUndefined();
    });

    test('a file is downloaded whole, and refused over the limit', async (context) => {
      const { account } = runOf();
      if (!messenger.addFile || !account.download) return context.skip('has no files');
      const bytes = Buffer.alloc(100_000, 'file');
      const media = messenger.addFile(bytes);
      const signal = AbortSignal.timeout(20_000);
      expect(Buffer.from(await account.download(media, signal)).equals(bytes)).toBe(true);
      const large = messenger.addFile(Buffer.alloc(2_000_000));
      // the service does not always report the size, and reports may be wrong
      for (const reported of [large, { ...large, bytes: 1 }])
        await expect(account.download(reported, signal)).rejects.toMatchObject({
          code: 'PAYLOAD_TOO_LARGE',
        });
    });

    test('a lost connection ends or recovers, and no message is lost', async (context) => {
      if (!messenger.disconnect) return context.skip('has no connection');
      const run = await connected();
      messenger.write(messenger.dm, 'one');
      await run.received(1);
      messenger.disconnect();
      messenger.write(messenger.dm, 'two');
      expect(texts(await run.received(2))).toEqual(['one', 'two']);
    });

    test('a revoked token ends the connection finally, and says what to do', async (context) => {
      if (!messenger.revoke) return context.skip('has no token');
      const run = await connected();
      messenger.revoke();
      // Connections from before may end first; the runtime starts the account again after each.
      let end = await run.ended();
      for (let starts = 0; !end.isFinal && starts < 5; starts++) {
        run.start();
        end = await run.ended();
      }
      expect(end).toMatchObject({ isFinal: true, error: { code: 'UNAUTHORIZED' } });
      expect(end.error.message).toMatch(messenger.revoked!);
      const outcome = await run.send(pieceOf(messenger.dm, 'too late'));
      expect(outcome).toMatchObject({ status: 'not_sent', isFinal: true });
    });

    test('no error and no log contains a secret', async () => {
      const run = await connected();
      const seen: unknown[] = [];
      for (const fault of ['cutBefore', 'errorAfter', 'refuse'] as const) {
        messenger.failSend(fault);
        seen.push(await run.send(pieceOf(messenger.dm, fault)));
      }
      messenger.disconnect?.();
      messenger.revoke?.();
      seen.push(await run.send(pieceOf(messenger.dm, 'revoked')));
      await run.stop();
      await messenger.close();
      seen.push(await run.send(pieceOf(messenger.dm, 'not reached')), run.end, run.warnings);
      for (const secret of messenger.secrets) expect(JSON.stringify(seen)).not.toContain(secret);
    });
  });
}
