/**
 * A cluster as the README starts it by hand on several machines: real processes with a data folder
 * each, which share nothing but the address of NATS and a secret.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defined } from '../../protocols/defined.ts';
import { runSuite } from '../../conformance/suite.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, type Started, startProgram } from '../cli/program.ts';
import { credentialsAt, faultsIn, trialOver } from '../conformance/subject.ts';
import { CLUSTER_SECRET as SECRET, TOKEN } from '../kill/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const START = { timeout: 180_000 };

let nats: NatsServer;

type Machine = { readonly home: string; readonly port: number };
const machine = async (): Promise<Machine> => {
  const home = scratchFolder();
  write(home, 'troupe.json5', '{ cluster: { shards: 4 } }');
  return { home, port: await reservePort() };
};

type How = { readonly env: string; readonly secret?: string | undefined };
const envOf = ({ home, port }: Machine, { env, secret }: How) => {
  write(home, 'troupe.json5', JSON.stringify({ cluster: { shards: 4 }, nats: { env } }));
  return {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: nats.url,
    TROUPE_PORT: String(port),
    TROUPE_TOKEN: TOKEN,
    ...defined({ TROUPE_CLUSTER_SECRET: secret }),
  };
};
const start = (role: string, on: Machine, how: How): Started =>
  startProgram([role, '--json'], { home: on.home, env: envOf(on, how) });
const refused = async (role: string, on: Machine, how: How, exitCode = 4) => {
  const { code, stderr } = await runProgram([role], { home: on.home, env: envOf(on, how) });
  expect(code).toBe(exitCode);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  return stderr;
};
const reset = (on: Machine, how: How, ...options: readonly string[]) =>
  runProgram(['cluster', 'reset-keys', ...options], { home: on.home, env: envOf(on, how) });
const ready = (program: Started): Promise<unknown> =>
  eventually(() => {
    if (!program.stdout.includes('\n')) throw new Error(`it is not ready: ${program.stderr}`);
  }, 60_000);
const stop = async ({ child, ended }: Started, signal: NodeJS.Signals = 'SIGKILL') => {
  child.kill(signal);
  await ended;
};
const sealingKeyOf = ({ home }: Machine) => readFileSync(join(home, 'a2a', 'sealing.jwk'), 'utf8');
const filesKeyOf = ({ home }: Machine) => readFileSync(join(home, 'a2a', 'files.key'), 'utf8');
const bearer = { authorization: `Bearer ${TOKEN}` };

describe.skipIf(!server)(`a cluster on several machines${leftOut}`, () => {
  beforeAll(async () => {
    nats = await startNats({ path: server!.path });
  });
  afterAll(() => nats.stop());

  it('keeps every rule of troupe conformance without an alarm', START, async () => {
    const how = { env: 'kept', secret: SECRET };
    const [gateway, second, one, two] = await Promise.all([1, 2, 3, 4].map(machine));
    // All at once: none of them is the first.
    const workers = [start('worker', one!, how), start('worker', two!, how)];
    const gateways = [start('gateway', gateway!, how), start('gateway', second!, how)];
    await Promise.all([...workers, ...gateways].map(ready));
    for (const other of [second!, one!, two!]) {
      expect(sealingKeyOf(other)).toBe(sealingKeyOf(gateway!));
      expect(filesKeyOf(other)).toBe(filesKeyOf(gateway!));
    }
    const url = `http://127.0.0.1:${gateway!.port}`;
    const elsewhere = `http://127.0.0.1:${second!.port}`;
    const file = await fetch(`${url}/v1/artifacts`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'text/plain' },
      body: 'written at one gateway',
    });
    const { artifact_hash: hash } = (await file.json()) as { artifact_hash: string };
    const signed = await fetch(`${elsewhere}/v1/artifacts/${hash}/sign`, {
      method: 'POST',
      headers: bearer,
    });
    const { artifact_uri: uri } = (await signed.json()) as { artifact_uri: string };
    expect(uri).toContain(elsewhere);
    expect(await (await fetch(uri)).text()).toBe('written at one gateway');

    const { findings } = await runSuite(
      trialOver(url, await credentialsAt(gateway!.home, url.replace('http', 'ws'))),
    );
    expect(faultsIn(findings)).toEqual([]);
    for (const { stderr } of [...workers, ...gateways]) expect(stderr).not.toContain('"alarm"');
  });

  it('refuses a process without the secret, and with a wrong one', START, async () => {
    const how = { env: 'refusing', secret: SECRET };
    const [first, other] = [await machine(), await machine()];
    await ready(start('worker', first, how));
    const command = `TROUPE_CLUSTER_SECRET=SECRET troupe worker --nats ${nats.url} --data ${other.home}`;
    const without = await refused('worker', other, { env: 'refusing' });
    expect(without).toContain('does not have the keys of the cluster refusing');
    expect(without).toContain(command);
    const wrong = await refused('worker', other, { ...how, secret: 'another secret altogether' });
    expect(wrong).toContain('the secret does not open the keys');
    expect(wrong).not.toContain('altogether');
    const short = await runProgram(['worker'], {
      home: other.home,
      env: envOf(other, { env: 'short', secret: 'short' }),
    });
    expect(short.code).toBe(2);
    expect(short.stderr).toContain('at least 12 characters');
    // What was refused left nothing behind.
    await ready(start('worker', other, how));
    expect(sealingKeyOf(other)).toBe(sealingKeyOf(first));
  });

  it('refuses a data folder with other keys and keeps them', START, async () => {
    const [first, other] = [await machine(), await machine()];
    await ready(start('worker', other, { env: 'earlier', secret: SECRET }));
    const kept = sealingKeyOf(other);
    await ready(start('worker', first, { env: 'later', secret: SECRET }));
    for (const secret of [SECRET, undefined])
      expect(await refused('gateway', other, { env: 'later', secret })).toContain(
        'has other keys than the cluster later',
      );
    expect(sealingKeyOf(other)).toBe(kept);
  });

  it('records no damaged key, and starts once the file is removed', START, async () => {
    const [on, how] = [await machine(), { env: 'damaged', secret: SECRET }];
    for (const [file, text] of [
      ['a2a/sealing.jwk', '{"kty":"OKP"'],
      ['a2a/signing.jwk', '{"kty":"OKP","crv":"Ed25519","x":"AA"}'],
      ['a2a/files.key', ''],
      ['artifacts/signing-key', 'damaged'],
    ] as const) {
      write(on.home, file, text);
      const path = join(on.home, file);
      expect(await refused('worker', on, how, 1)).toContain(`the key file ${path} contains no key`);
      rmSync(path);
    }
    await ready(start('worker', on, how));
  });

  it('needs no secret where all processes use one data folder', START, async () => {
    const [first, other] = [await machine(), await machine()];
    const [worker, gateway] = [
      start('worker', first, { env: 'alone' }),
      start('gateway', first, { env: 'alone' }),
    ];
    await Promise.all([worker, gateway].map(ready));
    const refusal = await refused('worker', other, { env: 'alone', secret: SECRET });
    expect(refusal).toContain('was started without a secret');
    // A process that has the keys shares them when it is started with a secret.
    await stop(worker, 'SIGTERM');
    await ready(start('worker', first, { env: 'alone', secret: SECRET }));
    await ready(start('worker', other, { env: 'alone', secret: SECRET }));
    expect(sealingKeyOf(other)).toBe(sealingKeyOf(first));
    expect(gateway.stderr).not.toContain('"alarm"');
  });

  it(
    'makes new keys after the only data folder was lost and its keys were reset',
    START,
    async () => {
      const how = { env: 'lost' };
      const [first, next] = [await machine(), await machine()];
      const worker = start('worker', first, how);
      await ready(worker);
      const running = await reset(next, how, '--yes');
      expect(running.stderr).toContain('Stop them first');
      await stop(worker);
      rmSync(first.home, { recursive: true });
      expect(await refused('worker', next, how)).toContain(
        `troupe cluster reset-keys --nats ${nats.url}`,
      );
      const unconfirmed = await reset(next, how);
      expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
      await refused('worker', next, how);
      // The heartbeats of the killed worker are no longer received.
      await eventually(async () => {
        expect(await reset(next, how, '--yes')).toMatchObject({ code: 0 });
      }, 20_000);
      await ready(start('worker', next, how));
      expect(sealingKeyOf(next)).toContain('OKP');
    },
  );

  it('accepts another join secret after the former one was reset', START, async () => {
    const [first, other] = [await machine(), await machine()];
    const [former, latter] = [SECRET, 'another secret altogether'];
    const worker = start('worker', first, { env: 'changed', secret: former });
    await ready(worker);
    expect(await reset(first, { env: 'changed' }, '--secret-only')).toMatchObject({ code: 0 });
    await stop(worker, 'SIGTERM');
    await ready(start('worker', first, { env: 'changed', secret: latter }));
    expect(await refused('worker', other, { env: 'changed', secret: former })).toContain(
      'the secret does not open the keys',
    );
    await ready(start('worker', other, { env: 'changed', secret: latter }));
    expect(sealingKeyOf(other)).toBe(sealingKeyOf(first));
  });

  it('keeps one set of keys when first processes are killed at any moment', START, async () => {
    const how = { env: 'killed', secret: SECRET };
    const machines = await Promise.all([1, 2, 3].map(machine));
    for (let round = 0; round < 4; round++) {
      const programs = machines.map((on) => start('worker', on, how));
      // Each round ends a different one first, as soon as any of them has a key.
      await eventually(() => {
        const having = machines.filter((on) => {
          try {
            return sealingKeyOf(on) !== '';
          } catch {
            return false;
          }
        });
        expect(having.length).toBeGreaterThan(0);
      }, 60_000);
      await Promise.all(programs.map((program) => stop(program)));
    }
    const programs = machines.map((on) => start('worker', on, how));
    await Promise.all(programs.map(ready));
    expect(new Set(machines.map(sealingKeyOf)).size).toBe(1);
    expect(new Set(machines.map(filesKeyOf)).size).toBe(1);
  });
});
