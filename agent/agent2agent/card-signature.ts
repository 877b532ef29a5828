/**
 * Signatures of agent cards: JWS over the canonical card (A2A 1.0, section 8.4). The SDK's own
 * verifier prints to the console, and does not say which key has signed.
 *
 * Invariant: keys are read only from the origin of the card or from a configured one, whatever
 * `jku` a signature names.
 */
import type { AgentCard, AgentCardSignature } from '@a2a-js/sdk';
import type { JWK } from 'jose';
import { errorData, isFinalCode, TroupeError } from '../../protocols/errors.ts';
import type { RemoteAgentConfig } from '../../runtime/config/index.ts';
import { cardUrlOf } from './card.ts';
import type { RemoteHttp } from './remote-http.ts';

/** Signatures that are looked at. Two are usual while a key is replaced. */
const SIGNATURES_MAX = 4;
const KEYS_BYTES_MAX = 64 * 1024;
/** No symmetric one: a published key could then sign. */
const ALGORITHMS = /^(EdDSA|Ed25519|[EPR]S(256|384|512))$/;

export type Verification = {
  readonly agent: RemoteAgentConfig;
  readonly name: string;
  readonly http: RemoteHttp;
  readonly signal: AbortSignal;
};

/**
 * The thumbprints (RFC 7638, SHA-256) of the keys that have signed the card; [] for one without
 * signatures.
 * @throws TroupeError FORBIDDEN when no signature is valid; what reading the keys throws
 */
export async function signersOf(card: AgentCard, by: Verification): Promise<readonly string[]> {
  if (card.signatures.length === 0) return [];
  const { canonicalizeAgentCard } = await import('@a2a-js/sdk');
  const payload = Buffer.from(canonicalizeAgentCard(card)).toString('base64url');
  const signers = new Set<string>();
  const failures: TroupeError[] = [];
  for (const signature of card.signatures.slice(0, SIGNATURES_MAX)) {
    try {
      signers.add(await signerOf(signature, payload, by));
    } catch (error) {
      failures.push(error instanceof TroupeError ? error : wrong((error as Error).message));
    }
  }
  if (signers.size > 0) return [...signers];
  const passing = failures.find(({ code }) => !isFinalCode(code));
  const why = failures.map((failure) => errorData(failure).message).join('; ');
  throw new TroupeError(
    passing?.code ?? 'FORBIDDEN',
    `no signature of the card of ${by.name} can be verified: ${why}`,
  );
}

/** @throws TroupeError; an error of jose */
async function signerOf(
  { protected: header, signature }: AgentCardSignature,
  payload: string,
  by: Verification,
): Promise<string> {
  const jose = await import('jose');
  const { kid, alg, jku } = jose.decodeProtectedHeader({ protected: header });
  if (typeof kid !== 'string' || typeof alg !== 'string' || !ALGORITHMS.test(alg))
    throw wrong('its header names no key, or no algorithm that is accepted');
  const jwk = await keyOf({ kid, jku }, by);
  const key = await jose.importJWK({ ...jwk, alg });
  await jose.flattenedVerify({ payload, protected: header, signature }, key, {
    algorithms: [alg],
  });
  return jose.calculateJwkThumbprint(jwk);
}

async function keyOf(
  { kid, jku }: { readonly kid: string; readonly jku: unknown },
  { agent, http, signal }: Verification,
): Promise<JWK> {
  const url = keysUrl(jku, agent);
  const { body } = await http.get(url, { signal, bytesMax: KEYS_BYTES_MAX });
  const { keys } = JSON.parse(body.toString()) as { readonly keys?: unknown };
  const jwk = (Array.isArray(keys) ? (keys as (JWK | null)[]) : []).find((key) => key?.kid === kid);
  if (!jwk || jwk.kty === 'oct') throw wrong(`${url.href} has no such key`);
  return jwk;
}

/** Without `jku`, keys are where identity providers have them. */
function keysUrl(jku: unknown, { url, keyOrigins }: RemoteAgentConfig): URL {
  const { origin } = cardUrlOf(url);
  if (jku === undefined) return new URL('/.well-known/jwks.json', origin);
  if (typeof jku !== 'string' || !URL.canParse(jku)) throw wrong('its jku is not a URL');
  const target = new URL(jku);
  if (target.origin === origin || keyOrigins.includes(target.origin)) return target;
  throw wrong(`its keys are at ${target.origin}: add it to keyOrigins if you trust it`);
}

const wrong = (why: string): TroupeError => new TroupeError('FORBIDDEN', why);
