import { afterEach, describe, expect, test } from 'vitest';
import { imagesOf, IMAGES_BYTES_MAX } from '../../../../channels/gateway/sessions/attachments.ts';
import { IMAGE_BYTES_MAX } from '../../../../protocols/content.ts';
import { MESSAGE_BYTES_MAX } from '../../../../runtime/message-client.ts';
import { MAIN } from '../client.ts';
import { closeAll, openAll } from '../opened.ts';

afterEach(closeAll);

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(9)]);
const png = (bytes = PNG) => bytes.toString('base64');
const attachment = { type: 'image', mimeType: 'image/png', fileName: 'a.png', content: png() };

describe('settings of a message', () => {
  const wishes = { verbose: 'full', reasoning: true, queueMode: 'collect', thinking: 'high' };
  const carried = {
    verbose: 'full',
    reasoning: true,
    queue: 'collect',
    thinking: 'high',
    model: 'offline/echo',
    images: [{ mimeType: 'image/png', data: png() }],
  };

  test.each(['agent', 'chat.send'])('are passed to the session by %s', async (method) => {
    const { client, system } = await openAll();
    const session = method === 'agent' ? { agentId: 'main' } : { sessionKey: MAIN };
    const answer = await client.call(method, {
      ...session,
      ...wishes,
      message: 'look',
      idempotencyKey: 'r',
      model: 'offline/echo',
      attachments: [attachment],
    });
    expect(answer.ok).toBe(true);
    expect(system.asked.at(-1)?.event).toEqual({
      type: 'session.receive',
      runId: 'r',
      text: 'look',
      ...carried,
    });
  });

  test('are refused when they are unknown', async () => {
    const { client } = await openAll();
    const about = { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' };
    const verbose = await client.call('chat.send', { ...about, verbose: 'loud' });
    expect(verbose.error?.message).toBe('/verbose is one of off, on, full');
    const withCommand = await client.call('chat.send', {
      ...about,
      message: '/new',
      attachments: [attachment],
    });
    expect(withCommand.error?.message).toContain('a command cannot have attachments');
  });
});

describe('attachments', () => {
  test('may be a message without text', async () => {
    const { client, system } = await openAll();
    const about = { sessionKey: MAIN, message: '', idempotencyKey: 'r' };
    const nothing = await client.call('chat.send', { ...about, attachments: [] });
    expect(nothing.error?.message).toBe('/message must not be empty');
    const sent = await client.call('chat.send', { ...about, attachments: [attachment] });
    expect(sent.ok).toBe(true);
    expect(system.asked.at(-1)?.event).toMatchObject({
      text: '',
      images: [{ mimeType: 'image/png', data: png() }],
    });
  });

  const data = (beginning: string) => png(Buffer.from(`${beginning}${'00'.repeat(18)}`, 'hex'));

  test('are identified by their first bytes, whatever their names', () => {
    const webp = '52494646000000005745425056503820';
    const contents = [
      data('ffd8ffe0'),
      data('474946383961'),
      data(webp),
      `data:image/png;base64,${png()}`,
    ];
    const types = imagesOf(contents.map((content) => ({ content, mimeType: 'image/png' })));
    expect(types.map(({ mimeType }) => mimeType)).toEqual([
      'image/jpeg',
      'image/gif',
      'image/webp',
      'image/png',
    ]);
    expect(types[3]?.data).toBe(png());
  });

  const large = png(Buffer.concat([PNG, Buffer.alloc(IMAGE_BYTES_MAX)]));
  const nearly = png(Buffer.concat([PNG, Buffer.alloc(IMAGE_BYTES_MAX - 40)]));
  test.each([
    ['too many', Array.from({ length: 9 }, () => attachment), '/attachments are 9'],
    ['no object', [5], '/attachments/0 has no content'],
    ['nothing', [null], '/attachments/0 has no content'],
    ['no content', [attachment, { mimeType: 'image/png' }], '/attachments/1 has no content'],
    ['other bytes', [{ content: 'not base64!' }], '/attachments/0 is not base64'],
    [
      'a file',
      [{ content: btoa('%PDF-1.7 abcde'), mimeType: 'application/pdf' }],
      'is not an image',
    ],
    ['too large', [{ content: large }], `at most ${IMAGE_BYTES_MAX} are allowed`],
    [
      'too large together',
      Array.from({ length: 5 }, () => ({ content: nearly })),
      `at most ${IMAGES_BYTES_MAX}`,
    ],
  ])('are refused with their position and the reason: %s', (_what, attachments, message) => {
    expect(() => imagesOf(attachments)).toThrow(message);
  });

  test('fit into one message with their text', () => {
    const base64 = Math.ceil((IMAGES_BYTES_MAX * 4) / 3);
    expect(base64 + 65_536).toBeLessThan(MESSAGE_BYTES_MAX);
    expect(imagesOf([{ content: nearly }, { content: nearly }])).toHaveLength(2);
  });

  test('may be absent', () => {
    expect(imagesOf(undefined)).toEqual([]);
    expect(imagesOf([])).toEqual([]);
  });
});
