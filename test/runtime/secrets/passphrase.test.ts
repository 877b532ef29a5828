import { expect, it } from 'vitest';
import {
  PASSPHRASE_CHARS_MIN,
  openWithPassphrase,
  sealWithPassphrase,
} from '../../../runtime/secrets/passphrase.ts';

/** of `openssl rand -hex 32`: quick, so most tests use it */
const passphrase = '9f1c0b7de2a84635f07c91ab3de85264c0aa17f39b6e42d81573fce06b29d84a';
const contents = Buffer.from('the keys of the cell');
const seal = () => sealWithPassphrase(contents, passphrase, 'cell main');
const COST_AT = 5;

it('opens with the same passphrase and context', async () => {
  const sealed = await seal();
  expect(sealed.includes(contents)).toBe(false);
  expect(await openWithPassphrase(sealed, passphrase, 'cell main')).toEqual(contents);
});

it('encrypts the same contents differently each time, and empty contents too', async () => {
  expect((await seal()).equals(await seal())).toBe(false);
  const empty = await sealWithPassphrase(new Uint8Array(), passphrase, '');
  expect(await openWithPassphrase(empty, passphrase, '')).toEqual(Buffer.alloc(0));
});

it('accepts a composed and a decomposed spelling of one passphrase', async () => {
  const sealed = await sealWithPassphrase(contents, 'm\u00fcnchen m\u00fcnchen', 'x');
  expect(await openWithPassphrase(sealed, 'mu\u0308nchen mu\u0308nchen', 'x')).toEqual(contents);
});

it.each([
  ['half a second for one that a person may have chosen', 'correct horse battery staple', 17],
  ['half a second for as many digits that follow a pattern', '0123'.repeat(16), 17],
  ['half a second for fewer random digits', passphrase.slice(1), 17],
  ['a twentieth of a second for 256 random bits', passphrase, 14],
  ['a twentieth of a second for them in capitals', passphrase.toUpperCase(), 14],
])('derives the key in %s', async (_what, secret, log2N) => {
  const sealed = await sealWithPassphrase(contents, secret, 'cell main');
  expect(sealed[COST_AT]).toBe(log2N);
  expect(await openWithPassphrase(sealed, secret, 'cell main')).toEqual(contents);
});

it('refuses another passphrase and another context', async () => {
  const sealed = await seal();
  const refused = { code: 'UNAUTHORIZED' };
  await expect(openWithPassphrase(sealed, `${passphrase}!`, 'cell main')).rejects.toMatchObject(
    refused,
  );
  await expect(openWithPassphrase(sealed, passphrase, 'cell other')).rejects.toMatchObject(refused);
});

it('refuses contents that were changed, in any part', async () => {
  const sealed = await seal();
  for (const at of [COST_AT + 3, COST_AT + 19, COST_AT + 31, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(openWithPassphrase(changed, passphrase, 'cell main')).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  }
});

it.each([
  ['memory without bound', [30, 8, 1]],
  ['a large block size', [17, 255, 1]],
  ['a cheap derivation', [1, 8, 1]],
  ['a small block size', [17, 0, 1]],
  ['work without bound', [17, 8, 255]],
  ['no work', [17, 8, 0]],
])('refuses scrypt parameters that ask for %s', async (_what, cost) => {
  const sealed = await seal();
  sealed.set(cost, COST_AT);
  await expect(openWithPassphrase(sealed, passphrase, 'cell main')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('scrypt parameters'),
  });
});

it.each([
  ['nothing', Buffer.alloc(0)],
  ['another file', Buffer.alloc(200, 7)],
  ['a file that ends in its header', Buffer.from('TRPP\u0001\u0011\u0008\u0001', 'latin1')],
  ['a newer version', Buffer.concat([Buffer.from('TRPP\u0002', 'latin1'), Buffer.alloc(100)])],
])('refuses %s as not in this format', async (_what, file) => {
  await expect(openWithPassphrase(file, passphrase, '')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

it('refuses to encrypt with a short passphrase', async () => {
  const short = 'a'.repeat(PASSPHRASE_CHARS_MIN - 1);
  await expect(sealWithPassphrase(contents, short, '')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});
