/**
 * `troupe conformance`: checks whether an endpoint, ours or another vendor's, follows the rules.
 */
import { readFile } from 'node:fs/promises';
import { CONFORMANCE_TENANT } from '../../conformance/agent/actions.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Endpoint } from '../../conformance/endpoint.ts';
import {
  type Credentials,
  localCredentials,
  privateKeyIn,
  signerOf,
  whoOf,
} from './conformance-credentials.ts';
import { HttpEndpoint } from '../../conformance/http-endpoint.ts';
import { readProfile, SHIPPED_PROFILE } from '../../conformance/profile.ts';
import { type Finding, runSuite } from '../../conformance/suite.ts';
import { exitCodes } from '../exit.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { originOf, type ClientOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { withProgress } from '../progress.ts';

export type ConformanceOptions = ClientOptions & {
  /** of the requesting program; default: created for the gateway of this data folder */
  readonly bearer?: string;
  readonly tenant?: string;
  readonly sub?: string;
  readonly roles?: string;
  readonly externalToken?: string;
  readonly externalKey?: string;
  readonly strangerToken?: string;
  readonly profile?: string;
  readonly only?: readonly string[];
  readonly http?: string;
};

/** For another vendor's endpoint, if neither the options nor the token contain it. */
const TENANT = 'default';

/** Exit code 0 when every rule is followed, 1 when one is broken. */
export async function conformance(
  target: string | undefined,
  options: ConformanceOptions,
): Promise<number> {
  const { config } = await loadFrom({ ...options, nats: undefined });
  const url = target ?? (await originOf(config, options));
  const credentials = options.bearer
    ? await givenCredentials(options, options.bearer)
    : await ownCredentials(config, options);
  const endpoint = await endpointOf(url, credentials, options, config);
  try {
    const profile = options.profile
      ? readProfile(await readFile(options.profile, 'utf8'))
      : SHIPPED_PROFILE;
    let checked = 0;
    const { findings, resent } = await withProgress(({ show }) => {
      const count = ({ id }: Finding) => show(`${(checked += 1)} rules checked, the last: ${id}`);
      return runSuite({
        endpoint,
        profile,
        who: credentials.who,
        external: credentials.external,
        strangerToken: credentials.strangerToken,
        ...defined({ only: options.only }),
        // Without --json the findings themselves show the progress.
        onFinding: options.json ? count : print,
      });
    });
    if (options.json) printJson({ endpoint: url, transport: endpoint.transport, resent, findings });
    else process.stdout.write(`\n${summary(findings, resent)}\n`);
    const broken = findings.some(({ verdict }) => verdict === 'broken');
    return broken || findings.length === 0 ? exitCodes.failure : exitCodes.ok;
  } finally {
    await endpoint.close();
    await credentials.forget();
  }
}

type Config = Awaited<ReturnType<typeof loadFrom>>['config'];

async function ownCredentials(config: Config, options: ConformanceOptions): Promise<Credentials> {
  const { bearer: _, url: __, http: ___, ...rest } = options;
  return localCredentials(config, options.tenant ?? CONFORMANCE_TENANT, await gatewayHttp(rest));
}

async function givenCredentials(
  { tenant, sub, roles, externalToken, externalKey, strangerToken }: ConformanceOptions,
  token: string,
): Promise<Credentials> {
  const claims = whoOf(token);
  const who = {
    tenant: tenant ?? claims.tenant ?? TENANT,
    sub: sub ?? claims.sub ?? 'operator',
    roles: roles?.split(',') ?? claims.roles ?? [],
  };
  const forget = async () => {};
  const given = { token, who, forget, ...(strangerToken ? { strangerToken } : {}) };
  if (!externalToken || !externalKey) return given;
  const jwk = await privateKeyIn(await readFile(externalKey, 'utf8'));
  const external = { ...who, ...whoOf(externalToken) };
  return { ...given, external: signerOf(jwk, externalToken, external, jwk.kid) };
}

async function endpointOf(
  url: string,
  { token, who }: Credentials,
  { http }: ConformanceOptions,
  config: Config,
): Promise<Endpoint> {
  const bearer = () => token;
  const httpOf = (address: string) => new HttpEndpoint({ url: address, token: bearer });
  if (/^https?:/.test(url)) return httpOf(url);
  if (!/^(nats|tls):/.test(url))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${url} is not an http://, https://, nats:// or tls:// URL`,
    );
  const { natsOptions } = await import('../../runtime/config/index.ts');
  const { NatsClient } = await import('../../runtime/pubsub/nats-client.ts');
  const { NatsEndpoint } = await import('../../conformance/nats-endpoint.ts');
  const client = await NatsClient.open({
    ...natsOptions(config),
    servers: [url],
    name: 'troupe conformance',
    inboxPrefix: `_INBOX.${who.tenant}`,
  });
  return new NatsEndpoint({
    client,
    env: config.nats.env,
    tenant: who.tenant,
    token: bearer,
    http: http === undefined ? undefined : httpOf(http),
  });
}

const MARKS = { kept: 'kept   ', broken: 'BROKEN ', skipped: 'skipped' } as const;

function print({ id, rule, verdict, why }: Finding): void {
  process.stdout.write(`${MARKS[verdict]}  ${id.padEnd(26)} ${rule}\n`);
  if (why !== undefined) process.stdout.write(`         ${why}\n`);
}

function summary(findings: readonly Finding[], resent: number): string {
  const count = (verdict: Finding['verdict']) =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const again = resent === 0 ? '' : `; ${resent} requests were retried`;
  return `${count('kept')} kept, ${count('broken')} broken, ${count('skipped')} skipped${again}`;
}
