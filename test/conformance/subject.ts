/** Subject: a real endpoint for the suite, with the suite's credentials. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFORMANCE_TENANT } from '../../conformance/agent/actions.ts';
import {
  type Credentials,
  localCredentials,
} from '../../cli/conformance/conformance-credentials.ts';
import { HttpEndpoint } from '../../conformance/http-endpoint.ts';
import { SHIPPED_PROFILE } from '../../conformance/profile.ts';
import type { Finding } from '../../conformance/suite.ts';
import type { TrialOptions } from '../../conformance/trial.ts';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import type { Own } from './breakers/faults.ts';
import { kill, startProgram, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';

export type Subject = {
  readonly origin: string;
  /** its data folder */
  readonly data: string;
  readonly credentials: Credentials;
  close(): Promise<void>;
};

/**
 * Limits above the requests of all suites of a test, and no lock-out after wrong tokens: these
 * tests are not about quotas.
 */
const BOUNDLESS = JSON.stringify({
  a2a: { quota: { principalPerMinute: 1_000_000, externalPerMinute: 1_000_000 } },
  gateway: { auth: { rateLimit: { exemptLoopback: true } } },
});

/** The built program on the embedded store, in its own data folder. */
export async function embeddedSubject(): Promise<Subject> {
  const data = mkdtempSync(join(tmpdir(), 'troupe-conformance-'));
  writeFileSync(join(data, 'troupe.json5'), BOUNDLESS);
  const program = await startProgram(data, await reservePort());
  const origin = program.url.replace(/^ws/, 'http');
  return {
    origin,
    data,
    credentials: await credentialsAt(data, program.url),
    async close() {
      await kill(program);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Created as by `troupe conformance`, for the gateway of this data folder. */
export async function credentialsAt(
  data: string,
  url: string,
  tenant = CONFORMANCE_TENANT,
): Promise<Credentials> {
  const { config } = loadConfig({ env: {}, home: data, flags: { data } });
  return localCredentials(config, tenant, await gatewayHttp({ data, url, token: TOKEN }));
}

/** The suite's settings for an endpoint at `url`. */
export const trialOver = (
  url: string,
  { token, who, external, strangerToken }: Credentials,
): TrialOptions => ({
  endpoint: new HttpEndpoint({ url, token: () => token }),
  profile: SHIPPED_PROFILE,
  who,
  external,
  strangerToken,
});

/** What a proxy in front of the endpoint knows. */
export function ownOf({ origin, credentials }: Subject): Own {
  const { token, who, external, strangerToken } = credentials;
  if (!external || !strangerToken) throw new Error('the suite lacks credentials');
  return { origin, token, who, external, strangerToken };
}

/** The problems in a report. */
export const faultsIn = (findings: readonly Finding[]): readonly string[] =>
  findings
    .filter(({ verdict }) => verdict !== 'kept')
    .map(({ id, verdict, why }) => `${id} is ${verdict}: ${why}`);
