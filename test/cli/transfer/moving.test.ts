/** Files and keys move with an installation, and an import reports what is missing. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readKeyFile, sealingKeyFile } from '../../../channels/edge/identity/key-file.ts';
import { sealingJwk, sealingKidOf, sealPayload } from '../../../protocols/security/sealed.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { announced, runProgram, type RunOptions, type Started, startProgram } from '../program.ts';

const PASSPHRASE = 'twelve horses and a cart';
const CONTENTS = ['{"file":1}', '{"file":2}'];
const server = natsServers().at(-1);
const MINUTES = { timeout: 180_000 };

async function ready(args: readonly string[], options: RunOptions): Promise<Started> {
  const program = startProgram([...args, '--json'], options);
  await announced(program, 60_000);
  return program;
}
const urlOf = ({ stdout }: Started) => new URL((JSON.parse(stdout) as { url: string }).url).origin;
const bearerOf = (home: string) => ({
  authorization: `Bearer ${readFileSync(join(home, '.troupe', 'token'), 'utf8').trim()}`,
});
const stop = async (program: Started): Promise<void> => {
  program.child.kill('SIGTERM');
  await program.ended;
};

type Installation = {
  readonly home: string;
  readonly hashes: readonly string[];
  readonly kid: string;
};

/** Two files, and a conversation that refers to both and to a payload sealed to its key. */
async function installation(): Promise<Installation> {
  const home = scratchFolder();
  const program = await ready(['start', '--port', '0'], { home });
  const url = urlOf(program);
  const refs = await Promise.all(
    CONTENTS.map(async (body) => {
      const headers = { ...bearerOf(home), 'content-type': 'application/json' };
      const stored = await fetch(`${url}/v1/artifacts`, { method: 'POST', headers, body });
      return (await stored.json()) as { artifact_hash: string; artifact_uri: string };
    }),
  );
  const key = sealingJwk((await readKeyFile(sealingKeyFile(join(home, '.troupe'))))[0]);
  const principal = { sub: 'ann', roles: [] };
  const belongsTo = { tenant_id: 'default', action: 'desk.add_note', principal };
  const { jwe } = await sealPayload({ schema_version: '1.0', secret: 1 }, key, belongsTo);
  const text = [...refs.map((ref) => ref.artifact_uri), jwe].join(' ');
  const env = { TROUPE_PORT: new URL(url).port };
  expect(await runProgram(['agent', '-m', text], { home, env })).toMatchObject({ code: 0 });
  await stop(program);
  return { home, hashes: refs.map((ref) => ref.artifact_hash), kid: sealingKidOf(key) };
}

describe.skipIf(!server)('an installation with files and a sealed payload', () => {
  let nats: NatsServer;
  let cells = 0;
  beforeAll(async () => {
    nats = await startNats({ path: server!.path });
  });
  afterAll(() => nats.stop());

  /** A separate machine and cell. */
  const place = (more: Record<string, string> = {}): RunOptions & { home: string } => {
    const home = scratchFolder();
    const config = { nats: { env: `moved-${++cells}` } };
    write(home, '.troupe/troupe.json5', JSON.stringify(config));
    return { home, env: { TROUPE_NATS_URL: nats.url, ...more } };
  };
  const exported = async (home: string, file: string, env: Record<string, string> = {}) => {
    const ended = await runProgram(['export', file, '--force', '--json'], { home, env });
    expect(ended.code).toBe(0);
    return JSON.parse(ended.stdout) as { artifacts: number; keys: boolean; leftOut: string[] };
  };

  it('moves with its keys, only with the right passphrase', MINUTES, async () => {
    const { home, hashes } = await installation();
    const file = join(scratchFolder(), 'all.export');
    const env = { TROUPE_EXPORT_PASSPHRASE: PASSPHRASE };
    write(home, '.troupe/.notes', 'text');
    write(home, '.troupe/a2a/partner.jwk', '{}');
    const summary = await exported(home, file, env);
    expect(summary).toMatchObject({ artifacts: 2, keys: true });
    for (const name of ['.notes', 'a2a/partner.jwk'])
      expect(summary.leftOut).toContain(`${join(home, '.troupe', name)}: is not part of an export`);
    expect(summary.leftOut.join()).not.toContain('sealing.jwk');
    expect(summary.leftOut.map((line) => line.replace(/:.*/s, '')).join()).toMatch(/\/token/);
    const sealing = readFileSync(sealingKeyFile(join(home, '.troupe')), 'utf8');
    expect(readFileSync(file).includes(JSON.parse(sealing).d as string)).toBe(false);

    const there = place();
    const none = await runProgram(['import', file], there);
    expect(none).toMatchObject({ code: 2, stdout: '' });
    expect(none.stderr).toContain('TROUPE_EXPORT_PASSPHRASE');
    const wrongFile = join(scratchFolder(), 'wrong');
    writeFileSync(wrongFile, 'not the passphrase\n');
    const wrong = await runProgram(['import', file, '--passphrase-file', wrongFile], there);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('the passphrase does not open the keys');

    // Nothing was changed: no --again is needed.
    const imported = await runProgram(['import', file, '--json'], {
      ...there,
      env: { ...there.env, ...env },
    });
    expect(imported).toMatchObject({ code: 0 });
    expect(JSON.parse(imported.stdout)).toMatchObject({ artifacts: 2, missing: [] });
    expect(readFileSync(sealingKeyFile(join(there.home, '.troupe')), 'utf8')).toBe(sealing);

    // A refused import writes no key.
    const late = { ...there, home: scratchFolder(), env: { ...there.env, ...env } };
    const cell = readFileSync(join(there.home, '.troupe/troupe.json5'), 'utf8');
    write(late.home, '.troupe/troupe.json5', cell);
    const second = await runProgram(['import', file], late);
    expect(second.stderr).toContain('already');
    expect(existsSync(sealingKeyFile(join(late.home, '.troupe')))).toBe(false);

    await ready(['worker'], there);
    const url = urlOf(await ready(['gateway', '--port', '0'], there));
    for (const [n, hash] of hashes.entries()) {
      const signed = await fetch(`${url}/v1/artifacts/${hash}/sign`, {
        method: 'POST',
        headers: bearerOf(there.home),
      });
      const { artifact_uri: uri } = (await signed.json()) as { artifact_uri: string };
      expect(await (await fetch(uri)).text()).toBe(CONTENTS[n]);
    }
  });

  it('does not overwrite another key of the data folder', MINUTES, async () => {
    const file = join(scratchFolder(), 'all.export');
    const env = { TROUPE_EXPORT_PASSPHRASE: PASSPHRASE };
    await exported((await installation()).home, file, env);
    const other = place(env);
    await stop(await ready(['start', '--port', '0'], { home: other.home }));
    const before = readFileSync(sealingKeyFile(join(other.home, '.troupe')), 'utf8');
    const refused = await runProgram(['import', file], other);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('differs from the exported key');
    expect(readFileSync(sealingKeyFile(join(other.home, '.troupe')), 'utf8')).toBe(before);
  });

  it('reports what is missing, without keys and with a damaged file', MINUTES, async () => {
    const { home, hashes, kid } = await installation();
    const folder = join(home, '.troupe', 'artifacts', 'default', hashes[1]!.slice(0, 2));
    const path = join(folder, readdirSync(folder)[0]!);
    const sound = readFileSync(path);
    writeFileSync(
      path,
      Buffer.from(sound.map((byte, at) => (at === sound.length - 1 ? byte ^ 1 : byte))),
    );
    const file = join(scratchFolder(), 'less.export');
    const summary = await exported(home, file);
    writeFileSync(path, sound);
    expect(summary).toMatchObject({ artifacts: 1, keys: false });
    const left = summary.leftOut.join('\n');
    expect(left).toContain('sealing.jwk: without it stored sealed payloads cannot be opened');
    expect(left).toContain(`file ${hashes[1]} of the tenant default`);

    const there = place();
    const imported = await runProgram(['import', file, '--json'], there);
    expect(imported).toMatchObject({ code: 1 });
    expect(JSON.parse(imported.stdout)).toMatchObject({
      missing: [
        `file ${hashes[1]} of the tenant default is missing`,
        `payloads are sealed to the key ${kid}, which is missing`,
      ],
    });
    rmSync(file);
  });
});
