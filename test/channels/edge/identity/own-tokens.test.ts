/** Tokens of the installation itself: the gateway's own, and those of `troupe token`. */
import { describe, expect, it } from 'vitest';
import { issueToken, localIssuer } from '../../../../channels/edge/identity/local-issuer.ts';
import { scratchFolder } from '../../../runtime/config/folder.ts';
import { bearer, clockAt, identityOf, issuerWith, NOW, refusal, RESOURCE } from './issuer.ts';

const ed = await issuerWith('EdDSA', 'ed');

describe("the gateway's own token", () => {
  it('authenticates the operator, whatever issuers are configured', async () => {
    const identity = identityOf({ gatewayToken: 's3cret!', tenant: 'home' });
    expect(await identity.authenticate(bearer('s3cret!'))).toEqual({
      sub: 'operator',
      roles: ['operator'],
      tenant: 'home',
      profile: 'A2A-Basic',
    });
    await expect(identity.authenticate(bearer('s3cret'))).rejects.toMatchObject(refusal(/./));
    await expect(identity.authenticate({})).rejects.toMatchObject(refusal(/the token is missing/));
  });

  it('is not required in mode none, but a wrong one is still refused', async () => {
    const identity = identityOf({ open: true });
    expect(await identity.authenticate({ transport: 'http' })).toMatchObject({ sub: 'operator' });
    await expect(identity.authenticate(bearer('x'))).rejects.toMatchObject(refusal(/./));
  });

  it('is required over NATS, also in mode none, because a sender may be on any machine', async () => {
    const identity = identityOf({ open: true });
    for (const credentials of [{ transport: 'nats' as const }, {}])
      await expect(identity.authenticate(credentials)).rejects.toMatchObject(
        refusal(/the token is missing/),
      );
  });

  it('does not exist without a configured secret: no text authenticates', async () => {
    const identity = identityOf({ gatewayToken: '' });
    for (const authorization of ['Bearer ', 'Bearer undefined', 'Bearer'])
      await expect(identity.authenticate({ authorization })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
  });
});

describe('a token of troupe token', () => {
  const request = {
    sub: 'ann',
    tenant: 'acme',
    roles: ['writer'],
    resource: RESOURCE,
    ttlSec: 60,
    external: false,
  };

  it('is accepted by the gateway of the same data folder, created before or after its start', async () => {
    const home = scratchFolder();
    const clock = clockAt();
    const identity = identityOf({ issuers: [localIssuer(home)], clock });
    await expect(identity.authenticate(bearer(await ed.token()))).rejects.toMatchObject(
      refusal(/issuer is not configured/),
    );
    const token = await issueToken(home, request, NOW);
    clock.wind(1_000);
    expect(await identity.authenticate(bearer(token))).toEqual({
      sub: 'ann',
      tenant: 'acme',
      roles: ['writer'],
      profile: 'A2A-Basic',
    });
    const external = await issueToken(home, { ...request, external: true }, NOW);
    expect(await identity.authenticate(bearer(external))).toMatchObject({
      profile: 'A2A-External',
    });
    clock.wind(90_000);
    await expect(identity.authenticate(bearer(token))).rejects.toMatchObject(refusal(/expired/));
  });

  it('is refused by the gateway of another data folder', async () => {
    const [mine, other] = [scratchFolder(), scratchFolder()];
    await issueToken(other, request, NOW);
    const identity = identityOf({ issuers: [localIssuer(other)] });
    await expect(
      identity.authenticate(bearer(await issueToken(mine, request, NOW))),
    ).rejects.toMatchObject(refusal(/signature/));
  });
});
