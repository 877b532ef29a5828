/** The download of files that an agent sends to a conversation. */
import { expect, test } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { operatorOf } from './operator.ts';

const KEY = 'agent:main:main';
const REPORT = 'quý một: 42\n';
const BYTES = Buffer.byteLength(REPORT);
const files = { 'báo cáo.txt': REPORT, 'rows.csv': 'a,b\n' };
const send = 'call message {"text":"Here is the report.","files":["báo cáo.txt","rows.csv"]}';

test('the URL of a file is given for files of messages only', async () => {
  const troupe = await install({ config: {}, files });
  await troupe.run(KEY, send);
  const call = await operatorOf(troupe);
  const { entries } = (await call('sessions.transcript', { key: KEY })) as {
    entries: { position: number; entry: { files?: { hash: string }[] } }[];
  };
  const { position: message, entry } = entries.find((one) => one.entry.files !== undefined)!;
  const { hash } = entry.files![0]!;
  const file = await call('sessions.file', { key: 'main', message, hash });
  expect(file).toMatchObject({
    name: 'báo cáo.txt',
    contentType: 'text/plain',
    bytes: BYTES,
    hash,
  });
  const response = await fetch(file.url);
  expect(await response.text()).toBe(REPORT);
  expect(response.headers.get('content-disposition')).toContain('attachment');
  const wrong = [
    { key: KEY, message: message + 1, hash },
    { key: KEY, message: 1, hash },
    { key: KEY, message: 999_999, hash },
    { key: KEY, message, hash: 'a'.repeat(64) },
    { key: 'agent:main:other', message, hash },
  ];
  for (const params of wrong)
    await expect(call('sessions.file', params)).rejects.toThrow('NOT_FOUND');
  await expect(call('sessions.file', { key: KEY, message, hash: '../x' })).rejects.toThrow(
    'INVALID_ARGUMENT',
  );
});
