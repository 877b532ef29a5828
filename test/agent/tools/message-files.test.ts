/** Files of the tool `message`: real files, a real bucket. */
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { messageTool } from '../../../agent/tools/sessions/message.ts';
import { createToolRegistry, type ToolRegistry } from '../../../agent/tools/registry.ts';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { FILE_BYTES_MAX } from '../../../protocols/content.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import type { Artifacts } from '../../../runtime/index.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { toolContext } from './tool-context.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d', 'hex');
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

let bucket: Artifacts;
let workspace: string;
let tools: ToolRegistry;

const open = async (more: { bytesMax?: () => number } = {}) => {
  bucket = await openFolderArtifacts({
    path: scratchFolder(),
    publicUrl: () => 'http://127.0.0.1:1',
    mimeTypes: ['application/octet-stream'],
    ...more,
  });
  tools = createToolRegistry([messageTool(Promise.resolve(bucket))]);
};
const put = (name: string, contents: string | Buffer) =>
  writeFileSync(join(workspace, name), contents);
const send = (args: object, over: Partial<ToolContext> = {}) =>
  tools.run(
    { name: 'message', args: { text: 'here', ...args } },
    toolContext({ workspace: () => Promise.resolve({ path: workspace }), ...over }),
  );

beforeEach(async () => {
  workspace = scratchFolder();
  await open();
});

describe('files of a message', () => {
  it('are stored by their content, with name, type and size, in order', async () => {
    mkdirSync(join(workspace, 'out'));
    const table = Buffer.from('a,b\n1,2\n');
    put('out/báo cáo.csv', table);
    put('chart', PNG);
    put('unknown.xyzzy', 'x');
    const files = ['out/báo cáo.csv', '/workspace/chart', 'unknown.xyzzy'];
    const { sent, text } = await send({ files });
    expect(sent).toEqual([
      {
        to: 'agent:main:main',
        text: 'here',
        files: [
          { name: 'báo cáo.csv', contentType: 'text/csv', bytes: 8, hash: sha256(table) },
          { name: 'chart', contentType: 'image/png', bytes: PNG.length, hash: sha256(PNG) },
          {
            name: 'unknown.xyzzy',
            contentType: 'application/octet-stream',
            bytes: 1,
            hash: sha256(Buffer.from('x')),
          },
        ],
      },
    ]);
    expect(text).toContain('báo cáo.csv (8 bytes)');
    const { contents } = await bucket.get('default', sha256(table));
    expect(Buffer.from(contents).equals(table)).toBe(true);
  });

  it('are what they were during the call', async () => {
    put('a.txt', 'first');
    const { sent } = await send({ files: ['a.txt'] });
    put('a.txt', 'second');
    const { contents } = await bucket.get('default', sent![0]!.files![0]!.hash);
    expect(Buffer.from(contents).toString()).toBe('first');
  });

  it('of the largest size are accepted; a larger one and an empty one are refused', async () => {
    put('large.bin', '');
    truncateSync(join(workspace, 'large.bin'), FILE_BYTES_MAX);
    expect(await send({ files: ['large.bin'] })).not.toHaveProperty('isError');
    truncateSync(join(workspace, 'large.bin'), FILE_BYTES_MAX + 1);
    put('empty.txt', '');
    for (const [name, why] of [
      ['large.bin', `${FILE_BYTES_MAX + 1} bytes; at most ${FILE_BYTES_MAX}`],
      ['empty.txt', 'is empty'],
    ] as const) {
      const refused = await send({ files: [name] });
      expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(why) });
      expect(refused).not.toHaveProperty('sent');
    }
  });

  it('outside the workspace, folders and files that do not exist are refused', async () => {
    const outside = join(scratchFolder(), 'secret');
    writeFileSync(outside, 'secret');
    symlinkSync(outside, join(workspace, 'link'));
    mkdirSync(join(workspace, 'folder'));
    for (const path of ['../secret', outside, 'link', 'folder', 'nothing.txt', '/etc/passwd'])
      expect(await send({ files: [path] })).toMatchObject({ isError: true });
  });

  it('need access to the workspace', async () => {
    put('a.txt', 'a');
    const confinement = { sandboxed: true, workspaceAccess: 'none' } as const;
    expect(await send({ files: ['a.txt'] }, { confinement })).toMatchObject({
      isError: true,
      text: expect.stringContaining('no access to the workspace'),
    });
  });

  it('that contain a secret of the installation are refused, wherever it is', async () => {
    const secrets = createSecretMask(['hunter2-hunter2']);
    const filler = 'x'.repeat(256 * 1024 - 7);
    put('plain.txt', filler);
    put('middle.txt', `${filler}hunter2-hunter2${filler}`);
    put('end.txt', `${filler}hunter2-hunter2`);
    put('binary.bin', Buffer.from(`\0\xff${Buffer.from('hunter2-hunter2').toString('base64')}`));
    expect(await send({ files: ['plain.txt'] }, { secrets })).not.toHaveProperty('isError');
    for (const name of ['middle.txt', 'end.txt', 'binary.bin'])
      expect(await send({ files: [name] }, { secrets })).toMatchObject({
        isError: true,
        text: expect.stringContaining(`${name} contains a secret`),
      });
  });

  it('are not sent when one of them cannot be', async () => {
    put('a.txt', 'a');
    const result = await send({ files: ['a.txt', 'missing.txt'] });
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining('missing.txt') });
    expect(result).not.toHaveProperty('sent');
  });

  it('belong to messages of this conversation only', async () => {
    put('a.txt', 'a');
    expect(await send({ to: 'ada', files: ['a.txt'] })).toMatchObject({
      isError: true,
      text: expect.stringContaining('leave out `to`'),
    });
  });

  it('are refused with the reason when the bucket is full', async () => {
    await open({ bytesMax: () => 1_048_576 });
    put('large.bin', Buffer.alloc(2_000_000));
    expect(await send({ files: ['large.bin'] })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/large\.bin cannot be sent: .*bytes/),
    });
  });

  it('are at most ten', async () => {
    put('a.txt', 'a');
    const files = Array.from({ length: 11 }, () => 'a.txt');
    expect(await send({ files })).toMatchObject({ isError: true });
    expect((await send({ files: files.slice(1) })).sent?.[0]?.files).toHaveLength(10);
  });
});
