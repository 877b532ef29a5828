/** Authentication, authorization, signatures and encryption. */
import { createHmac, randomUUID } from 'node:crypto';
import type { Envelope } from '../../protocols/envelope.ts';
import { sealPayload } from '../../protocols/security/sealed.ts';
import { type Check, checksOf } from '../check.ts';
import type { Signer, Trial } from '../trial.ts';

const base64url = (text: string | Uint8Array) => Buffer.from(text).toString('base64url');

/** An envelope whose sender is the program that signs it. */
const ofExternal = (t: Trial, { who }: Signer, change: object = {}): Envelope =>
  t.envelope(
    t.action('echo'),
    { text: 'signed' },
    {
      tenant_id: who.tenant,
      principal: { sub: who.sub, roles: [...who.roles] },
      ...change,
    },
  );

/** The receiver's public key for sealed payloads. */
async function publishedKey(t: Trial): Promise<unknown> {
  const reply = await t.http.get('/.well-known/jwks.json', { token: null });
  const { keys = [] } = reply.body as { keys?: readonly { use?: string }[] };
  const key = keys.find(({ use }) => use === 'enc');
  t.expect(key !== undefined, '/.well-known/jwks.json has a key whose use is enc', reply);
  return key;
}

export const securityChecks: readonly Check[] = checksOf('security', {
  'security.no-token': [
    'a request without a token is refused, and the answer names the authentication scheme',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'x' });
      const { reply } = await t.refused(envelope, 'UNAUTHORIZED', 'no token', { token: null });
      if (t.endpoint.transport === 'http')
        t.expect(
          /^Bearer/i.test(reply.headers['www-authenticate'] ?? ''),
          'WWW-Authenticate',
          reply,
        );
    },
  ],
  'security.bad-token': [
    'a token without a valid signature of an issuer is refused',
    async (t) => {
      const head = base64url('{"alg":"none","typ":"JWT"}');
      const claims = base64url(JSON.stringify({ sub: t.who.sub, tenant: t.who.tenant, exp: 4e9 }));
      const tokens = ['x', 'a.b.c', `${head}.${claims}.`, 'x'.repeat(10_000)];
      for (const token of tokens) {
        const envelope = t.envelope(t.action('echo'), { text: 'x' });
        await t.refused(envelope, 'UNAUTHORIZED', `the token ${token.slice(0, 20)}`, { token });
      }
    },
  ],
  'security.principal': [
    'an envelope with another principal than the token’s is refused',
    async (t) => {
      const principal = { sub: 'another-principal', roles: [] };
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { principal });
      await t.refused(envelope, 'FORBIDDEN', 'another principal than the token’s');
    },
  ],
  'security.roles': [
    'a role that the token does not grant is refused',
    async (t) => {
      const principal = { sub: t.who.sub, roles: [...t.who.roles, 'superuser'] };
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { principal });
      await t.refused(envelope, 'FORBIDDEN', 'a role that the token does not give');
    },
  ],
  'security.tenant': [
    'an envelope for another tenant is refused',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { tenant_id: 'another-tenant' });
      await t.refused(envelope, 'FORBIDDEN', 'another tenant than the token’s');
    },
  ],
  'security.foreign-task': [
    'a task of another tenant is NOT_FOUND',
    async (t) => {
      const view = await t.call(t.action('echo'), { text: 'x' });
      const token = t.strangerToken;
      const reply = await t.http.get(`/v1/tasks/${view.task_id}`, { token });
      t.expect(reply.status === 404, 'a stranger gets 404', reply);
    },
  ],
  'security.sealed': [
    'plaintext is refused where a payload must be sealed, and the refusal does not contain it',
    async (t) => {
      const envelope = t.envelope(t.action('secret'), { text: 'the-secret-itself' });
      const { reply } = await t.refused(envelope, 'INVALID_ARGUMENT', 'plaintext');
      const shown = JSON.stringify(reply.body).includes('the-secret-itself');
      t.expect(!shown, 'the error does not show it', reply);
    },
  ],
  'security.opened': [
    'a payload sealed to the published key is accepted, only in the envelope for which it was sealed',
    async (t) => {
      const action = t.action('secret');
      const key = await publishedKey(t);
      const good = t.envelope(action, { text: 'the-secret-itself' });
      const payload = await sealPayload(good.payload, key, good);
      const sealed = { ...good, payload, context_id: randomUUID() };
      const view = await t.ended(await t.accepted(sealed));
      t.expect(view.state === 'SUCCEEDED', 'it is opened and worked on', view);
      const foreign = await sealPayload(good.payload, key, { ...good, action: t.action('echo') });
      const other = { ...t.envelope(action), payload: foreign };
      await t.refused(other, 'FORBIDDEN', 'a payload that was sealed for another action');
    },
  ],
  'security.signed': [
    'a signed envelope of an external program is accepted, in any order of its fields',
    async (t) => {
      const { external } = t;
      const envelope = ofExternal(t, external);
      const signature = await external.sign(envelope);
      const reversed = Object.fromEntries(Object.entries(envelope).reverse());
      const reply = await t.send(reversed, { token: external.token, signature });
      t.expect(reply.status === 200 || reply.status === 202, 'it is taken', reply);
    },
  ],
  'security.unsigned': [
    'an envelope of an external program without a signature is refused',
    async (t) => {
      const { external } = t;
      const { token } = external;
      await t.refused(ofExternal(t, external), 'UNAUTHORIZED', 'no signature', { token });
    },
  ],
  'security.tampered': [
    'an envelope modified after signing is refused',
    async (t) => {
      const { external } = t;
      const envelope = ofExternal(t, external);
      const signature = await external.sign(envelope);
      const { token } = external;
      const changed = { ...envelope, payload: { ...envelope.payload, text: 'changed' } };
      await t.refused(changed, 'UNAUTHORIZED', 'a changed payload', { token, signature });
      const sooner = { ...envelope, seq: envelope.seq + 1 };
      await t.refused(sooner, 'UNAUTHORIZED', 'a changed seq', { token, signature });
    },
  ],
  'security.algorithm': [
    'signatures with another algorithm than Ed25519, or without a key id, are refused',
    async (t) => {
      const { external } = t;
      const { token, kid } = external;
      const envelope = ofExternal(t, external);
      const heads = [
        { alg: 'none', kid },
        { alg: 'HS256', kid },
        { alg: 'RS256', kid },
        { alg: 'EdDSA' },
      ];
      for (const head of heads) {
        const protectedHead = base64url(JSON.stringify(head));
        const mac = createHmac('sha256', kid).update(protectedHead).digest('base64url');
        const signature = `${protectedHead}..${mac}`;
        const what = JSON.stringify(head);
        await t.refused(envelope, 'UNAUTHORIZED', what, { token, signature });
      }
    },
  ],
  'security.unknown-key': [
    'a signature by an unregistered key is refused',
    async (t) => {
      const { external } = t;
      const envelope = ofExternal(t, external);
      const signature = await external.sign(envelope, 'no-such-key');
      const { token } = external;
      await t.refused(envelope, 'UNAUTHORIZED', 'an unknown kid', { token, signature });
    },
  ],
});
