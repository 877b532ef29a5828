/** Writes a small archive in memory: the ustar format of POSIX, compressed with gzip. */
import { gzipSync } from 'node:zlib';

const BLOCK = 512;

/**
 * @param files by path, at most 99 characters each
 * @param atMs time of every file, epoch milliseconds
 */
export function tarGz(files: ReadonlyMap<string, string>, atMs: number): Buffer {
  const parts = [...files].flatMap(([path, text]) => {
    const content = Buffer.from(text);
    const rest = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [headerOf(path, content.length, atMs), content, rest];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

function headerOf(path: string, size: number, atMs: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0, 99);
  header.write(octal(0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.floor(atMs / 1_000), 11), 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
