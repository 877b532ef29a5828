import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { startNats } from '../servers/nats.ts';
import { shippedConfig } from './shipped-config.ts';

describeOnNats('The durability of deploy/nats.conf', ({ path, version }) => {
  let folder: string;
  beforeEach(() => {
    process.env['TROUPE_NATS_PASSWORD'] = 'of-the-cell';
    folder = mkdtempSync(join(tmpdir(), 'troupe-durability-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The server's report at its monitoring port. */
  const flushesAlways = async (parts: readonly string[]): Promise<boolean> => {
    const config = `${shippedConfig(parts, { store: folder })}\nhttp: "127.0.0.1:-1"\n`;
    const server = await startNats({ path, config });
    try {
      const [file = ''] = readdirSync(join(server.folder, 'ports'));
      const ports = readFileSync(join(server.folder, 'ports', file), 'utf8');
      const { monitoring } = JSON.parse(ports) as { monitoring: [string] };
      const response = await fetch(`${monitoring[0]}/varz`);
      const { jetstream } = (await response.json()) as { jetstream: { config: object } };
      return 'sync_always' in jetstream.config;
    } finally {
      await server.stop();
    }
  };

  it('survives a kill of the process, as shipped', async () => {
    expect(await flushesAlways([])).toBe(false);
  });

  it('survives a power loss with the line marked #power, which server 2.9 refuses', async () => {
    const power = flushesAlways(['power']);
    if (version.startsWith('2.9.')) await expect(power).rejects.toThrow('unknown field');
    else expect(await power).toBe(true);
  });
});
