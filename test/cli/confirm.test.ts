/** The question before a change that cannot be undone. */
import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { confirm } from '../../cli/confirm.ts';
import { exitCodes } from '../../cli/exit.ts';

/** Types at a terminal once the question is there. */
function typing(keys: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  stdout.once('data', () => stdin.write(keys));
  const streams = { stdin, stdout } as unknown as Parameters<typeof confirm>[2];
  return confirm('Sure?', {}, streams);
}

it('is answered by y and yes alone', async () => {
  for (const keys of ['y\r', 'YES\r']) await typing(keys);
  for (const keys of ['\r', 'n\r', 'yellow\r'])
    await expect(typing(keys)).rejects.toMatchObject({ message: 'nothing was changed' });
});

it('bug: Ctrl-D and Ctrl-C were reported as internal errors', async () => {
  await expect(typing('\u0004')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: 'nothing was changed',
  });
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  void typing('\u0003');
  await vi.waitFor(() => expect(exit).toHaveBeenCalledExactlyOnceWith(exitCodes.interrupted));
  exit.mockRestore();
});
