/**
 * The token and the credentials of a push configuration, sealed to the installation's key: they are
 * stored so, and opened only to post a notification.
 */
import type { Envelope } from '../../protocols/envelope.ts';
import type { PushConfig } from '../../protocols/push.ts';
import {
  sealPayload,
  type SealedFor,
  type SealedPayload,
} from '../../protocols/security/sealed.ts';
import type { Sealer } from '../edge/identity/sealer.ts';

/** Empty texts: the client sent none. */
export type PushSecrets = { readonly token: string; readonly credentials: string };

/** What they are sealed for, in the place of an action. */
const PURPOSE = 'agent2agent.push_notification';

const belongsTo = (tenant: string, { principal }: PushConfig): SealedFor => ({
  tenant_id: tenant,
  action: PURPOSE,
  principal: { sub: principal, roles: [] },
});

export const sealSecrets = (
  { publicJwk }: Pick<Sealer, 'publicJwk'>,
  secrets: PushSecrets,
  tenant: string,
  config: PushConfig,
): Promise<SealedPayload> =>
  sealPayload({ schema_version: '1.0', ...secrets }, publicJwk, belongsTo(tenant, config));

/** @throws TroupeError FORBIDDEN when it is sealed to another key */
export async function openSecrets(
  sealer: Pick<Sealer, 'open'>,
  sealed: SealedPayload | undefined,
  tenant: string,
  config: PushConfig,
): Promise<PushSecrets> {
  if (!sealed) return { token: '', credentials: '' };
  const { payload } = await sealer.open({
    ...belongsTo(tenant, config),
    payload: sealed,
  } as unknown as Envelope);
  return { token: String(payload['token']), credentials: String(payload['credentials']) };
}
