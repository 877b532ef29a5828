/**
 * Two gateways of one cell with separate data folders, as on two machines: which tokens the second
 * one accepts, and the log when one has its own files and keys.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { issueToken } from '../../channels/edge/identity/local-issuer.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { announced, startProgram } from '../cli/program.ts';
import { CLUSTER_SECRET } from '../kill/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';

const tokenOf = (home: string): Promise<string> =>
  issueToken(
    home,
    {
      sub: 'clerk',
      tenant: 'default',
      roles: ['agent'],
      resource: 'urn:troupe:a2a',
      ttlSec: 600,
      external: false,
    },
    Date.now(),
  );

describe.skipIf(!server)(`two gateways of one cell${leftOut}`, () => {
  it('accept the tokens of one issuer, and log that their buckets differ', async () => {
    const nats = await startNats({ path: server!.path });
    onTestFinished(() => nats.stop());
    const start = (home: string, args: readonly string[], port = 0) =>
      startProgram([...args, '--json'], {
        home,
        env: {
          TROUPE_HOME: home,
          TROUPE_NATS_URL: nats.url,
          TROUPE_PORT: String(port),
          TROUPE_CLUSTER_SECRET: CLUSTER_SECRET,
        },
      });
    const first = { home: scratchFolder(), port: await reservePort() };
    const second = { home: scratchFolder(), port: await reservePort() };
    write(first.home, 'troupe.json5', '{ cluster: { shards: 4 } }');
    const jwks = `http://127.0.0.1:${first.port}/.well-known/jwks.json`;
    const settings = {
      cluster: { shards: 4 },
      a2a: {
        issuers: [{ issuer: 'urn:troupe:local', jwks }],
        // settings that an operator makes for one process only
        artifacts: { path: 'own-files' },
        sealingKeyFile: 'own-sealing.jwk',
      },
    };
    write(second.home, 'troupe.json5', JSON.stringify(settings));
    const worker = start(first.home, ['worker', '--name', 'one']);
    await announced(worker);
    await announced(start(first.home, ['gateway', '--name', 'first'], first.port));
    await announced(start(second.home, ['gateway', '--name', 'second'], second.port));

    const [made, own] = [await tokenOf(first.home), await tokenOf(second.home)];
    const statusOf = async (port: number, token: string) => {
      const asked = { headers: { authorization: `Bearer ${token}` } };
      return (await fetch(`http://127.0.0.1:${port}/v1/agents`, asked)).status;
    };
    expect(await statusOf(first.port, made)).toBe(200);
    expect(await statusOf(second.port, made)).toBe(200);
    // the issuer of that name is now the first gateway's
    expect(await statusOf(second.port, own)).toBe(401);
    expect(await statusOf(first.port, own)).toBe(401);

    await eventually(() => {
      expect(worker.stderr).toContain('cannot read the files of second');
      expect(worker.stderr).toContain('second has another key for sensitive payloads');
    });
    expect(worker.stderr).not.toContain('files of first');
  });
});
