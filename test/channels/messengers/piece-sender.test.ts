/** Texts and files of a delivery as pieces: order, limits, and files that are gone. */
import { beforeEach, expect, test } from 'vitest';
import type { Abilities, AccountAdapter } from '../../../channels/messengers/adapter.ts';
import { Lanes } from '../../../channels/messengers/lanes.ts';
import { Observed } from '../../../channels/messengers/observed.ts';
import { PieceSender } from '../../../channels/messengers/piece-sender.ts';
import { STOPPED } from '../../../channels/messengers/webhook-requests.ts';
import type { FilePart } from '../../../protocols/content.ts';
import type { SendInput } from '../../../protocols/channel-effects.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { type Artifacts, systemClock } from '../../../runtime/index.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';

const never = new AbortController().signal;
let bucket: Artifacts;
/** what the service has accepted, in order */
let accepted: string[];

beforeEach(async () => {
  accepted = [];
  bucket = await openFolderArtifacts({
    path: scratchFolder(),
    publicUrl: () => 'http://127.0.0.1:1',
    mimeTypes: ['*/*'],
  });
});

/** An account that accepts everything, and finds every piece that it is asked for. */
function senderWith(abilities: Partial<Abilities>, files: Pick<Artifacts, 'get'> = bucket) {
  const all: Abilities = {
    dialect: 'plain',
    charactersMax: 200,
    edit: false,
    threads: false,
    reconcile: true,
    pace: { ofChatMs: 0, ofAccountMs: 0 },
    ...abilities,
  };
  const adapter: AccountAdapter = {
    start: async () => STOPPED,
    stop: async () => {},
    isConnected: () => false,
    getStatus: () => ({ isConnected: false }),
    async send({ text }) {
      accepted.push(text);
      return { status: 'sent' };
    },
    async sendFile({ file }) {
      accepted.push(`${file.name}=${Buffer.from(file.contents).toString()}`);
      return { status: 'sent' };
    },
    reconcile: async ({ id }) => ({ status: 'sent', messageId: id }),
  };
  const observed = new Observed(systemClock, () => {});
  const open = { abilities: all, adapter, lanes: new Lanes(systemClock, all.pace), observed };
  return new PieceSender({
    account: async () => open,
    files: Promise.resolve(files),
    clock: systemClock,
  });
}

const stored = async (name: string, text: string, contentType = 'text/plain') => {
  const contents = Buffer.from(text);
  const { hash, bytes } = await bucket.put('default', contents, { contentType });
  return { name, contentType, bytes, hash } satisfies FilePart;
};
const inputOf = (text: string, files: readonly FilePart[], piece = 0): SendInput => ({
  tenant: 'default',
  channel: 'own',
  account: 'main',
  chat: { kind: 'dm', id: 'bob' },
  id: 'delivery',
  text,
  files,
  piece,
  attempt: 1,
  firstTriedAt: Date.now(),
});
const ANY = { files: { bytesMax: 1_000_000, reconcile: true } };

test('files follow all pieces of the text, and the number of pieces has both', async () => {
  const sender = senderWith(ANY);
  const text = ['one '.repeat(40).trim(), 'two '.repeat(40).trim()].join('\n\n');
  const files = [await stored('a.txt', 'A'), await stored('b.txt', 'B')];
  for (let piece = 0; piece < 5; piece++) {
    const outcome = await sender.send(inputOf(text, files, piece), never);
    expect(outcome).toMatchObject({ status: 'sent', pieces: 4 });
  }
  expect(accepted).toEqual([...text.split('\n\n'), 'a.txt=A', 'b.txt=B']);
});

test('a delivery without text has only files', async () => {
  const files = [await stored('a.txt', 'A')];
  const outcome = await senderWith(ANY).send(inputOf('', files), never);
  expect(outcome).toMatchObject({ status: 'sent', pieces: 1 });
  expect(accepted).toEqual(['a.txt=A']);
});

test.each([
  [{}, /^The file `a\.txt` \(1 KiB\) was not sent: no files/],
  [{ files: { bytesMax: 3, reconcile: false } }, /at most 1 KiB/],
  [
    { files: { bytesMax: 99, accepts: (type: string) => type === 'x/y', reconcile: false } },
    /\(text\/plain\)/,
  ],
])(
  'a file that the service does not accept is named in the chat (%#)',
  async (abilities, notice) => {
    const sender = senderWith({ dialect: 'discord', ...abilities });
    const input = inputOf('text', [await stored('a.txt', 'four')], 1);
    expect(await sender.send(input, never)).toMatchObject({ status: 'sent', pieces: 2 });
    expect(accepted).toEqual([expect.stringMatching(notice)]);
  },
);

test('a file that the bucket no longer has is finally not sent', async () => {
  const gone = { ...(await stored('a.txt', 'A')), hash: 'f'.repeat(64) };
  expect(await senderWith(ANY).send(inputOf('', [gone]), never)).toMatchObject({
    status: 'not_sent',
    isFinal: true,
    error: { code: 'NOT_FOUND', message: expect.stringContaining('a.txt cannot be read') },
  });
});

test('a bucket that is not available is tried again', async () => {
  const get = () => Promise.reject(new TroupeError('UNAVAILABLE', 'the bucket is away'));
  const outcome = await senderWith(ANY, { get }).send(
    inputOf('', [await stored('a.txt', 'A')]),
    never,
  );
  expect(outcome).toMatchObject({ status: 'not_sent', error: { code: 'UNAVAILABLE' } });
  expect(outcome).not.toHaveProperty('isFinal');
});

test('whether a file was sent is asked only where the service can say it', async () => {
  const input = inputOf('text', [await stored('a.txt', 'A')], 1);
  expect(await senderWith(ANY).reconcile(input, never)).toMatchObject({ status: 'sent' });
  const blind = { files: { bytesMax: 99, reconcile: false } };
  expect(await senderWith(blind).reconcile(input, never)).toMatchObject({ status: 'unknown' });
  const text = { ...input, piece: 0 };
  expect(await senderWith(blind).reconcile(text, never)).toMatchObject({ status: 'sent' });
});

test('a file never replaces a preview, so its outcome may be unknown', async () => {
  const blind = senderWith({ files: { bytesMax: 99, reconcile: false } });
  const input = { ...inputOf('', [await stored('a.txt', 'A')]), editOf: '7' };
  expect(await blind.reconcile(input, never)).toMatchObject({ status: 'unknown' });
});
