/**
 * An external program at the entry point of the whole program: token, key, signature, revocation.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Envelope } from '../../protocols/envelope.ts';
import {
  type Ed25519PrivateJwk,
  SIGNATURE_HEADER,
  signEnvelope,
} from '../../protocols/security/signature.ts';
import { envelope } from '../protocols/signed-envelope.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, startProgram } from './program.ts';

/** Requests the state of an unknown task: an authenticated caller receives NOT_FOUND. */
const asked = (seq: number): Envelope =>
  envelope({
    request_id: randomUUID(),
    timestamp: new Date().toISOString(),
    idempotency_key: `look-${seq}`,
    seq,
    action: 'task.get_status',
    payload: { schema_version: '1.0', task_id: randomUUID() },
  });

it('an external program needs a token and signed envelopes, until its key is revoked', async () => {
  const home = scratchFolder();
  const env = { TROUPE_PORT: String(await reservePort()) };
  const run = async (...args: string[]) => {
    const ended = await runProgram(args, { home, env });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    return ended.stdout.trim();
  };
  const gateway = startProgram(['start'], { home, env });
  await eventually(() => {
    if (!gateway.stdout.includes('http:')) throw new Error(`it is not ready: ${gateway.stderr}`);
  });
  const origin = `http://127.0.0.1:${env.TROUPE_PORT}`;

  const out = join(home, 'ann.jwk');
  await run('keys', 'create', '--sub', 'ann', '--out', out);
  const token = await run('token', '--sub', 'ann', '--roles', 'writer', '--external');
  const key = JSON.parse(readFileSync(out, 'utf8')) as Ed25519PrivateJwk & { kid: string };
  const send = async (sent: Envelope, signature?: string) => {
    const response = await fetch(`${origin}/v1/envelopes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(signature && { [SIGNATURE_HEADER]: signature }),
      },
      body: JSON.stringify(sent),
    });
    const { error } = (await response.json()) as { error?: { code: string } };
    return error?.code;
  };

  expect(await send(asked(1))).toBe('UNAUTHORIZED');
  const good = asked(2);
  const signature = await signEnvelope(good, key);
  expect(await send(good, signature)).toBe('NOT_FOUND');
  expect(await send({ ...good, seq: 3 }, signature)).toBe('UNAUTHORIZED');
  const published = await (await fetch(`${origin}/.well-known/jwks.json`)).json();
  expect(published).toMatchObject({
    keys: [{ use: 'enc' }, { use: 'sig', alg: 'Ed25519' }, { use: 'sig' }],
  });

  await run('keys', 'revoke', key.kid);
  expect(await send(good, signature)).toBe('UNAUTHORIZED');
}, 60_000);
