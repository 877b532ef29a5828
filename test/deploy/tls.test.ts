import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats } from '../../runtime/cluster/nats-connection.ts';
import { natsOptions } from '../../runtime/config/index.ts';
import { load } from '../runtime/config/folder.ts';
import { hasOpenssl, makeCertificates } from '../servers/certificates.ts';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../servers/nats.ts';
import { shippedConfig } from './shipped-config.ts';

const PASSWORD = 'of-the-cell';

describe.skipIf(!hasOpenssl)('TLS (skipped where openssl is not installed)', () => {
  describeOnNats('deploy/nats.conf with its TLS lines', ({ path }) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-deploy-tls-'));
    let server: NatsServer;

    beforeAll(async () => {
      makeCertificates(folder);
      copyFileSync(join(folder, 'cert.pem'), join(folder, 'server.pem'));
      copyFileSync(join(folder, 'key.pem'), join(folder, 'server.key'));
      process.env['TROUPE_NATS_PASSWORD'] = PASSWORD;
      const config = shippedConfig(['tls'], { store: join(folder, 'store'), certificates: folder });
      server = await startNats({ path, config });
    });
    afterAll(async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const optionsOf = (nats: object) => {
      const own = { url: server.url, user: 'troupe', password: PASSWORD };
      return natsOptions(load(JSON.stringify({ nats: { ...own, ...nats } })).config);
    };
    const dial = async (nats: object): Promise<boolean> => {
      const nc = await connectNats(optionsOf(nats));
      await nc.flush();
      const required = nc.info?.tls_required === true;
      await nc.close();
      return required;
    };

    it('refuses clients without TLS, and accepts one that trusts its CA', async () => {
      const tls = { caFile: join(folder, 'ca.pem') };
      expect(await dial({ tls })).toBe(true);
      expect(await dial({ tls, url: `tls://127.0.0.1:${server.port}` })).toBe(true);
    });

    it('is not trusted by a client without its CA', async () => {
      for (const nats of [{ tls: {} }, { url: `tls://127.0.0.1:${server.port}` }])
        await expect(dial(nats)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('TLS connection to NATS failed'),
        });
    });
  });
});
