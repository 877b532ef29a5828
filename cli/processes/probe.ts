/**
 * Whether an address belongs to a gateway of troupe, and what it says of itself. These requests
 * send no secret, so the certificate of a gateway with TLS is not verified.
 */
import type { RequestOptions } from 'node:https';
import { exchange } from '../client/gateway-http.ts';

/** Time limit of the response, milliseconds. */
const probeMs = 2_000;
const HEALTH_BYTES_MAX = 65_536;

/** Requests `/healthz`. Never throws: false without a response or for other programs. */
export async function isTroupe(origin: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(probeMs);
    const limits = { signal, bytesMax: HEALTH_BYTES_MAX };
    const { status, text } = await getUnverified(`${origin}/healthz`, limits);
    return status === 200 && (JSON.parse(text) as { ok?: unknown } | null)?.ok === true;
  } catch {
    return false;
  }
}

/** One request without a secret. */
export const getUnverified = (
  url: string,
  options: RequestOptions & { readonly bytesMax?: number } = {},
): ReturnType<typeof exchange> => exchange(url, { ...options, rejectUnauthorized: false });
