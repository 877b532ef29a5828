/** Remote agents of tests: their configuration, and a directory on a clock that tests move. */
import { generateKeyPair, exportJWK, calculateJwkThumbprint } from 'jose';
import { generateAgentCardSignature, type AgentCard } from '@a2a-js/sdk';
import { BlobCardStore, type CardStore } from '../../../agent/agent2agent/card-store.ts';
import { RemoteAgents } from '../../../agent/agent2agent/directory.ts';
import type { RemoteAgentConfig } from '../../../runtime/config/index.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { systemClock } from '../../../runtime/index.ts';

export const remoteAgent = (
  url: string,
  more: Partial<RemoteAgentConfig> = {},
): RemoteAgentConfig => ({
  url,
  headers: {},
  keyOrigins: [],
  origins: [],
  requireSignature: false,
  legacy: false,
  allowPrivate: true,
  approval: 'ask',
  timeoutSeconds: 60,
  ...more,
});

/** A cell: the store is the same for all its directories. */
export function cell() {
  let nowMs = 1_700_000_000_000;
  const store: CardStore = new BlobCardStore(Promise.resolve(new MemoryBlobs()));
  const clock = { ...systemClock, wallMs: () => nowMs };
  return {
    store,
    pass: (ms: number) => (nowMs += ms),
    /** One process of the cell. */
    process: (agent: RemoteAgentConfig) =>
      new RemoteAgents({ agents: { weather: agent }, store, clock }),
  };
}

/** A key that signs cards. */
export async function cardKey(kid: string, jku?: (card: AgentCard) => string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid };
  return {
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
    sign: (card: AgentCard) =>
      generateAgentCardSignature(privateKey, {
        alg: 'ES256',
        typ: 'JOSE',
        kid,
        ...(jku && { jku: jku(card) }),
      })(card),
  };
}
