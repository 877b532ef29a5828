/** The part of the contract of channels about files that an account sends. */
import { expect, test } from 'vitest';
import type { Abilities } from '../../../channels/messengers/adapter.ts';
import { type AccountRun, filePieceOf } from './account-run.ts';
import type { Messenger } from './messenger.ts';

type Opened = { readonly messenger: Messenger; readonly run: AccountRun };

/** @param open the messenger of the test, and an account that can send */
export function fileContract(abilities: Abilities, open: () => Promise<Opened>): void {
  test('a file is sent once, whole, with its name, in its thread', async () => {
    const { messenger, run } = await open();
    const contents = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));
    for (const chat of [messenger.dm, messenger.group, messenger.thread]) {
      if (!chat) continue;
      const piece = filePieceOf(chat, { name: 'báo cáo “Q3”.pdf', contents });
      await expect(run.sendFile(piece)).resolves.toMatchObject({ status: 'sent' });
      const shown = messenger.shown(chat);
      expect(shown).toHaveLength(1);
      expect(shown[0]?.file?.name).toBe('báo cáo “Q3”.pdf');
      expect(shown[0]?.file?.contents.equals(contents)).toBe(true);
    }
  });

  for (const fault of ['errorBefore', 'errorAfter', 'cutBefore', 'cutAfter'] as const) {
    test(`doubled file: after ${fault} a file is sent once, or reported as unknown`, async () => {
      const { messenger, run } = await open();
      messenger.failFile(fault);
      const piece = filePieceOf(messenger.dm);
      let outcome = await run.sendFile(piece);
      const posted = () => messenger.shown(messenger.dm).filter(({ file }) => file).length;
      if (outcome.status === 'sent') expect(posted()).toBe(1);
      if (outcome.status === 'not_sent') expect(posted()).toBe(0);
      if (outcome.status === 'unknown' && abilities.files?.reconcile) {
        const text = { text: '', plain: '' };
        const signal = AbortSignal.timeout(20_000);
        outcome = await run.account.reconcile!({ ...piece, ...text }, signal);
        expect(outcome.status).toBe(posted() === 1 ? 'sent' : 'not_sent');
      }
      const mayRepeat = abilities.idempotentSendMs !== undefined || outcome.status === 'not_sent';
      if (!mayRepeat) return expect(posted()).toBe(fault.endsWith('After') ? 1 : 0);
      if (messenger.needsConnection && fault === 'cutBefore') await run.reconnected();
      await run.sendFile({ ...piece, attempt: 2 });
      expect(posted()).toBe(1);
    });
  }

  test('a file that the service refuses is not sent, and the refusal is final', async () => {
    const { messenger, run } = await open();
    messenger.failFile('refuse');
    const outcome = await run.sendFile(filePieceOf(messenger.dm));
    expect(outcome).toMatchObject({ status: 'not_sent', isFinal: true });
    expect(messenger.shown(messenger.dm)).toEqual([]);
  });

  test('a rate limit of files is reported with the time that the service asks for', async () => {
    const { messenger, run } = await open();
    messenger.failFile('rateLimit');
    expect(await run.sendFile(filePieceOf(messenger.dm))).toMatchObject({
      status: 'not_sent',
      error: { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: messenger.rateLimitMs },
    });
  });
}
