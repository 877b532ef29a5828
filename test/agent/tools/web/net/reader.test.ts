/** The reader with its real thread, built as the program has it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReader } from '../../../../../agent/tools/web/net/reader.ts';
import { nodeBundle } from '../../../../../tools/build.mjs';

const folder = mkdtempSync(join(tmpdir(), 'troupe-reader-'));
const file = join(folder, 'page-reader.mjs');
const signal = new AbortController().signal;

beforeAll(() =>
  build({
    ...nodeBundle,
    entryPoints: ['agent/tools/web/net/page-reader.ts'],
    outfile: file,
    sourcemap: false,
  }),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const page = (html: string) => ({ bytes: Buffer.from(html), contentType: 'text/html' });
const paragraphs = (count: number) =>
  `<html><head><title>Long</title></head><body><article>${'<p>Many words of one long page, as it goes on.</p>'.repeat(count)}</article></body></html>`;

describe('a large page', () => {
  it('is converted in a thread with the same result as a small one', async () => {
    const reader = createReader(pathToFileURL(file));
    const large = await reader.read(page(paragraphs(4_000)), signal);
    const small = await reader.read(page(paragraphs(20)), signal);
    expect(large?.title).toBe('Long');
    expect(small?.title).toBe('Long');
    expect(large!.text.length).toBeGreaterThan(100_000);
  });

  it('does not block this process', async () => {
    const reader = createReader(pathToFileURL(file));
    let turns = 0;
    let over = false;
    const read = reader.read(page(paragraphs(8_000)), signal).finally(() => (over = true));
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
    await read;
    expect(turns).toBeGreaterThan(50);
  });

  it('is abandoned when its call is aborted', async () => {
    const abort = new AbortController();
    const reading = createReader(pathToFileURL(file)).read(page(paragraphs(8_000)), abort.signal);
    abort.abort();
    await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('that ends its thread with an error is reported, and the next one works', async () => {
    const broken = createReader(pathToFileURL(join(folder, 'is-not-there.mjs')));
    await expect(broken.read(page(paragraphs(4_000)), signal)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    const deep = `<html><body>${'<div>'.repeat(60_000)}deep</body></html>`;
    const reader = createReader(pathToFileURL(file));
    const outcome = await reader.read(page(deep), signal).catch((error: Error) => error);
    expect(outcome).toBeDefined();
    expect((await reader.read(page(paragraphs(4_000)), signal))?.title).toBe('Long');
  });

  it('is refused when too many are converted at once', async () => {
    const reader = createReader(pathToFileURL(file));
    const abort = new AbortController();
    const all = Array.from({ length: 20 }, () =>
      reader.read(page(paragraphs(4_000)), abort.signal).catch((error: unknown) => error),
    );
    const refused = await Promise.race(all);
    expect(refused).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    abort.abort();
    await Promise.all(all);
  });
});
