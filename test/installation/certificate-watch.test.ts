/** Real certificates that are renamed, switched by a link as Kubernetes does, and broken. */
import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CertificateWatch } from '../../installation/certificate-watch.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { hasOpenssl, makeCertificates } from '../servers/certificates.ts';

describe.skipIf(!hasOpenssl)('CertificateWatch (skipped where openssl is not installed)', () => {
  it('uses a switched pair, keeps the last date with a broken one, and recovers', async () => {
    const folder = scratchFolder();
    const [one, two] = [scratchFolder(), scratchFolder()];
    makeCertificates(one);
    makeCertificates(two);
    const link = join(folder, 'data');
    const switchTo = (target: string) => {
      symlinkSync(target, `${link}.new`);
      renameSync(`${link}.new`, link);
    };
    switchTo(one);
    const lines: string[] = [];
    const log = {
      info: (_: object, text: string) => lines.push(`info ${text}`),
      warn: (_: object, text: string) => lines.push(`warn ${text}`),
    };
    const files = { certFile: join(link, 'cert.pem'), keyFile: join(link, 'key.pem') };
    // sound: pino's other signatures are not used
    const watch = new CertificateWatch(files, log as never);
    await watch.look();
    expect([lines, watch.fault]).toEqual([[], undefined]);
    const expires = watch.expiresAtMs;
    expect(expires).toBeGreaterThan(Date.now());
    switchTo(two);
    await watch.look();
    await watch.look();
    expect(lines).toEqual([expect.stringMatching(/^info .*next connection uses them/)]);
    writeFileSync(join(two, 'key.pem'), 'not a key');
    await watch.look();
    await watch.look();
    expect(lines.slice(1)).toEqual([expect.stringMatching(/^warn .*open connection stays/)]);
    expect(watch.fault).toBeDefined();
    switchTo(one);
    await watch.look();
    expect([watch.fault, lines.length]).toEqual([undefined, 3]);
    expect(watch.expiresAtMs).toBe(expires);

    renameSync(files.keyFile, `${files.keyFile}.away`);
    await watch.look();
    expect(watch.fault).toContain('ENOENT');
    renameSync(`${files.keyFile}.away`, files.keyFile);
    await watch.look();
    expect(watch.fault).toBeUndefined();
  });

  it.each([
    ['expired', -2, -1, /^the certificates for NATS: expired on .*: replace .*cert\.pem/],
    ['not valid yet', 1, 2, /^the certificates for NATS: valid only from .*set the clock/],
    ['valid', -1, 1, undefined],
  ] as const)('warns once of one that is %s', async (_name, from, to, text) => {
    const folder = scratchFolder();
    const at = (days: number) => new Date(Date.now() + days * 86_400_000);
    makeCertificates(folder, { between: [at(from), at(to)] });
    const lines: string[] = [];
    const log = { info: () => {}, warn: (_: object, line: string) => lines.push(line) };
    const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
    // sound: pino's other signatures are not used
    const watch = new CertificateWatch(files, log as never);
    await watch.look();
    await watch.look();
    expect(lines).toEqual(text === undefined ? [] : [expect.stringMatching(text)]);
    expect(watch.fault).toBeUndefined();
    expect(Math.abs(watch.expiresAtMs - at(to).getTime())).toBeLessThan(60_000);
  });
});
