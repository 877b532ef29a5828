/**
 * Changed certificates of NATS with a real server that requires them of its clients: the open
 * connection stays, the next one uses the new files, and a pair that cannot be used delays the
 * reconnection until it is replaced.
 */
import { readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CertificateWatch } from '../../installation/certificate-watch.ts';
import { connectNats } from '../../runtime/cluster/nats-connection.ts';
import { natsOptions } from '../../runtime/config/index.ts';
import { load, scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { hasOpenssl, makeCertificates } from '../servers/certificates.ts';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { startNats } from '../servers/nats.ts';

/** A folder with the certificates, behind a symbolic link that tests switch. */
function certificates() {
  const [one, two] = [scratchFolder(), scratchFolder()];
  for (const folder of [one, two]) makeCertificates(folder);
  const link = join(scratchFolder(), 'data');
  const switchTo = (folder: string) => {
    symlinkSync(folder, `${link}.new`);
    renameSync(`${link}.new`, link);
  };
  switchTo(one);
  const files = {
    caFile: join(link, 'ca.pem'),
    certFile: join(link, 'cert.pem'),
    keyFile: join(link, 'key.pem'),
  };
  return { one, two, switchTo, files };
}

/** With its certificate in `folder`; it accepts clients with certificates of the CA there. */
const serverConfig = (folder: string): string => {
  const named = (key: string, file: string) => `${key}: ${JSON.stringify(join(folder, file))}`;
  const files = [
    named('cert_file', 'cert.pem'),
    named('key_file', 'key.pem'),
    named('ca_file', 'ca.pem'),
  ];
  return `tls { ${files.join(', ')}, verify: true }`;
};

describe.skipIf(!hasOpenssl)('changed certificates (skipped without openssl)', () => {
  describeOnNats('a server that verifies its clients', ({ path }) => {
    it('is reached again with the new pair, and after a pair that cannot be used', async () => {
      const { one, two, switchTo, files } = certificates();
      const first = await startNats({ path, config: serverConfig(one) });
      const { port, folder } = first;
      const said: string[] = [];
      const { config } = load(JSON.stringify({ nats: { url: first.url, tls: files } }));
      const nc = await connectNats({
        ...natsOptions(config),
        onStatus: (what) => said.push(what),
      });
      onTestFinished(() => nc.close());
      const alarms: string[] = [];
      const log = { info: () => {}, warn: (_: object, text: string) => alarms.push(text) };
      // sound: pino's other signatures are not used
      const watch = new CertificateWatch(files, log as never);
      await watch.look();
      const isUp = () => nc.flush();

      switchTo(two);
      await watch.look();
      await isUp();
      expect(said).toEqual([]);
      await first.kill('SIGKILL');
      const second = await startNats({ path, folder, port, config: serverConfig(two) });
      await eventually(() => expect(said.at(-1)).toMatch(/^connected to NATS again/), 30_000);
      await isUp();

      const key = readFileSync(join(two, 'key.pem'));
      writeFileSync(join(two, 'key.pem'), readFileSync(join(one, 'key.pem')));
      await watch.look();
      expect(alarms).toEqual([expect.stringMatching(/cannot be used, and the open connection/)]);
      await isUp();
      said.length = 0;
      await second.kill('SIGKILL');
      writeFileSync(join(two, 'server-key.pem'), key);
      const withOwnKey = serverConfig(two).replace('/key.pem', '/server-key.pem');
      const third = await startNats({ path, folder, port, config: withOwnKey });
      onTestFinished(() => third.stop());
      await eventually(() => expect(said.join()).toContain('trying again'), 30_000);
      expect(said.join()).not.toContain('connected to NATS again');
      writeFileSync(join(two, 'key.pem'), key);
      await watch.look();
      await eventually(() => expect(said.at(-1)).toMatch(/^connected to NATS again/), 30_000);
      expect(watch.fault).toBeUndefined();
    });

    it('refuses a client without a certificate, which says what is missing', async () => {
      const { one, files } = certificates();
      const server = await startNats({ path, config: serverConfig(one) });
      onTestFinished(() => server.stop());
      const { caFile } = files;
      const said: string[] = [];
      const stop = new AbortController();
      const { config } = load(JSON.stringify({ nats: { url: server.url, tls: { caFile } } }));
      const connecting = connectNats({
        ...natsOptions(config),
        onStatus: (what) => said.push(what),
        signal: stop.signal,
      }).then(
        () => 'connected',
        (error: Error) => error.message,
      );
      await Promise.race([
        connecting,
        eventually(() => expect(said.join()).toContain('client certificate'), 30_000),
      ]);
      stop.abort();
      const end = await connecting;
      expect(`${end} ${said.join()}`).toContain('certificate');
      expect(end).not.toBe('connected');
    });
  });
});
