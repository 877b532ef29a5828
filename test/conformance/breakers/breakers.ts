/** Breakers: for every rule of the suite, an endpoint that breaks this rule and no other. */
import { envelopeBreakers, idempotencyBreakers, orderBreakers, ttlBreakers } from './envelopes.ts';
import type { Breaker } from './faults.ts';
import {
  callerBreakers,
  discoveryBreakers,
  endToEndBreakers,
  errorBreakers,
  signatureBreakers,
  versionBreakers,
} from './refusals.ts';
import { cancelBreakers, evidenceBreakers, largeBreakers, taskBreakers } from './tasks.ts';

/** In the order of CHECKS. */
export const BREAKERS: readonly Breaker[] = [
  ...envelopeBreakers,
  ...idempotencyBreakers,
  ...errorBreakers,
  ...callerBreakers,
  ...signatureBreakers,
  ...largeBreakers,
  ...orderBreakers,
  ...ttlBreakers,
  ...evidenceBreakers,
  ...versionBreakers,
  ...cancelBreakers,
  ...taskBreakers,
  ...discoveryBreakers,
  ...endToEndBreakers,
];
