/** Rules that several keys must agree on. */
import { isIP } from 'node:net';
import {
  BUILT_IN_PROVIDER_IDS,
  isBuiltInProvider,
  OFFLINE_PROVIDER,
} from '../../../protocols/models/model-providers.ts';
import { accountsReceive, webhookSecretsFit } from './channel-checks.ts';
import type { Finding } from './check.ts';
import { bindsLoopback } from '../places.ts';
import { childPointer, parsePointer, showPointer } from '../pointer.ts';
import { issuersFit } from './issuers.ts';
import { natsLoginStands } from '../nats.ts';
import type { Config } from '../schema/schema.ts';
import { nearest, withGuess } from './suggest.ts';
import { linksAreApart, resetZoneExists } from './session-checks.ts';
import { mcpServersFit } from './mcp-checks.ts';
import { memorySearchStands } from './memory-checks.ts';
import { remoteAgentsUseTls } from './remote-agent-checks.ts';
import { treesHoldOne } from './talk-checks.ts';
import { knownTools } from './tool-checks.ts';
import { ownSections, tenantConfig, tenantsWithOwn } from '../tenants.ts';
import { foldersApart } from '../workspace-folders.ts';

/**
 * Called with a configuration whose types hold. `tenant`: as whose it is checked; absent: the
 * installation's.
 */
export type Rule = (config: Config, tenant?: string) => readonly Finding[];

/** What the rules find in the configuration, and in it as each tenant has it. */
export function findingsOf(rules: readonly Rule[], config: Config): Finding[] {
  return rules.flatMap((rule) => {
    const shared = rule(config);
    const known = new Set(shared.map(({ pointer }) => pointer));
    const ofTenants = tenantsWithOwn(config).flatMap((tenant) =>
      rule(tenantConfig(config, tenant), tenant).flatMap((finding) =>
        placedIn(config, tenant, finding, known),
      ),
    );
    return [...shared, ...ofTenants];
  });
}

/** At the tenant's own section; a fault of an inherited one is the installation's already. */
function placedIn(
  config: Config,
  tenant: string,
  finding: Finding,
  known: ReadonlySet<string>,
): Finding[] {
  const { pointer, message } = finding;
  const place = childPointer('/tenants', tenant);
  const own: readonly string[] = ownSections(config, tenant);
  if (own.includes(parsePointer(pointer)[0] ?? ''))
    return [{ ...finding, pointer: place + pointer }];
  if (known.has(pointer)) return [];
  const inherited = `${showPointer(pointer)}, which it inherits, does not fit: ${message}`;
  return [{ ...finding, pointer: place, message: inherited }];
}

/** @param ownTools as `knownTools` */
export const checksFor = (ownTools?: readonly string[]): readonly Rule[] => [
  oneNameEach,
  uniqueAgents,
  knownAgents,
  (config) => knownTools(config, ownTools),
  treesHoldOne,
  providersStand,
  searchStands,
  memorySearchStands,
  mcpServersFit,
  gatewayIsGuarded,
  tailscaleFits,
  natsLoginStands,
  pinsHaveLabels,
  issuersFit,
  blocksFit,
  foldersApart,
  linksAreApart,
  resetZoneExists,
  accountsReceive,
  webhookSecretsFit,
  remoteAgentsUseTls,
];

export const crossChecks = checksFor();

/** No block could have the minimum length. */
function blocksFit({ agents: { defaults } }: Config): Finding[] {
  return (['blockStreamingChunk', 'blockStreamingCoalesce'] as const).flatMap((key) => {
    const { minChars, maxChars } = defaults[key];
    if (minChars <= maxChars) return [];
    const message = `is ${minChars}, more than maxChars, which is ${maxChars}`;
    return [{ pointer: `/agents/defaults/${key}/minChars`, message }];
  });
}

/** An agent without labels could be opened on any worker, each with another folder. */
function pinsHaveLabels({ runtime: { workspaces } }: Config): Finding[] {
  const { provider, labels, agents } = workspaces;
  if (provider !== 'pinned') return [];
  const places: [pointer: string, own: object][] = [['/runtime/workspaces/labels', labels]];
  for (const [id, own] of Object.entries(agents))
    places.push([childPointer('/runtime/workspaces/agents', id), own]);
  return places
    .filter(([, own]) => Object.keys(own).length === 0)
    .map(([pointer]) => ({
      pointer,
      value: '{}',
      message: 'runtime.workspaces.provider is pinned: name at least one label of the workers',
    }));
}

/** The loader moves `list` to `agents` and `name` to `identity.name` unless both are there. */
function oneNameEach({ agents: { agents, list } }: Config): Finding[] {
  const names = agents.flatMap(({ name }, index): Finding[] => {
    const message = 'identity.name is set, too: remove one of them';
    return name === undefined ? [] : [{ pointer: `/agents/agents/${index}/name`, message }];
  });
  const message = 'agents.agents is set, too: put all agents into one list';
  return list === undefined ? names : [{ pointer: '/agents/list', message }, ...names];
}

function uniqueAgents(config: Config): Finding[] {
  const { agents } = config.agents;
  const findings: Finding[] = [];
  agents.forEach(({ id }, index) => {
    const first = agents.findIndex((other) => other.id === id);
    if (first < index) {
      findings.push({
        pointer: `/agents/agents/${index}/id`,
        value: JSON.stringify(id),
        message: `agents.agents[${first}] has this id already; each agent needs its own`,
      });
    }
  });
  const defaults = agents.flatMap((agent, index) => (agent.default === true ? [index] : []));
  for (const index of defaults.slice(1)) {
    findings.push({
      pointer: `/agents/agents/${index}/default`,
      value: 'true',
      message: `agents.agents[${defaults[0]}] is the default agent already; there can be one`,
    });
  }
  return findings;
}

/** Ids that routing, a2a and subagents name. */
function knownAgents(config: Config): Finding[] {
  const known = config.agents.agents.map(({ id }) => id).filter((id) => id !== '');
  if (known.length === 0) known.push('main');
  return agentMentions(config)
    .filter(({ id, wildcard }) => !(known.includes(id) || (wildcard && id === '*')))
    .map(({ pointer, id }) => ({
      pointer,
      value: JSON.stringify(id),
      message: withGuess('no agent has this id', nearest(id, known)),
      allowed: known.join(', '),
    }));
}

type Mention = { readonly pointer: string; readonly id: string; readonly wildcard: boolean };

function agentMentions(config: Config): Mention[] {
  const listed = config.agents.agents.flatMap(({ a2a, subagents }, index) => {
    const base = `/agents/agents/${index}`;
    return [
      ...listMentions(`${base}/a2a/allowIncoming`, a2a?.allowIncoming),
      ...listMentions(`${base}/a2a/allowOutgoing`, a2a?.allowOutgoing),
      ...listMentions(`${base}/subagents/allowAgents`, subagents?.allowAgents),
      ...Object.keys(a2a?.historyAccess ?? {}).map((id) => ({
        pointer: childPointer(`${base}/a2a/historyAccess`, id),
        id,
        wildcard: true,
      })),
    ];
  });
  const pairs = (config.tools.agentToAgent.allow ?? []).flatMap(({ from, to }, index) => [
    { pointer: `/tools/agentToAgent/allow/${index}/from`, id: from, wildcard: true },
    { pointer: `/tools/agentToAgent/allow/${index}/to`, id: to, wildcard: true },
  ]);
  return [...routeMentions(config.agents.routing, '/agents/routing'), ...listed, ...pairs];
}

const listMentions = (pointer: string, ids: readonly string[] = []): Mention[] =>
  ids.map((id, index) => ({ pointer: `${pointer}/${index}`, id, wildcard: true }));

/** Every `agent` under the routing rules, however deep. */
function routeMentions(rule: unknown, pointer: string): Mention[] {
  if (typeof rule !== 'object' || rule === null) return [];
  return Object.entries(rule).flatMap(([key, value]) => {
    const at = childPointer(pointer, key);
    const mention = key === 'agent' && typeof value === 'string';
    return mention ? [{ pointer: at, id: value, wildcard: false }] : routeMentions(value, at);
  });
}

function providersStand(config: Config): Finding[] {
  return Object.entries(config.models.providers).flatMap(([id, { models, baseUrl, profiles }]) => {
    const pointer = childPointer('/models/providers', id);
    const findings: Finding[] = [];
    if (id === OFFLINE_PROVIDER) {
      findings.push({
        pointer,
        message: 'this name belongs to the model that comes with troupe; take another',
      });
    }
    if (!baseUrl && !isBuiltInProvider(id)) {
      findings.push({
        pointer: `${pointer}/baseUrl`,
        message: `is missing: only ${BUILT_IN_PROVIDER_IDS.join(', ')} have a default address`,
        allowed: 'an http:// or https:// URL',
      });
    }
    profiles.forEach(({ id: profile }, index) => {
      const first = profiles.findIndex((other) => other.id === profile);
      if (profile === 'default' || first < index) {
        findings.push({
          pointer: `${pointer}/profiles/${index}/id`,
          value: JSON.stringify(profile),
          message:
            profile === 'default'
              ? 'this name belongs to `apiKey`; take another'
              : 'this provider has a profile of this name already',
        });
      }
    });
    models.forEach(({ id: model }, index) => {
      if (models.findIndex((other) => other.id === model) < index) {
        findings.push({
          pointer: `${pointer}/models/${index}/id`,
          value: JSON.stringify(model),
          message: 'this provider lists the model already',
        });
      }
    });
    return findings;
  });
}

/** A search that could never answer is said at start, not to a model in the middle of a run. */
function searchStands({ tools }: Config): Finding[] {
  const { provider, apiKey, baseUrl } = tools.web.search;
  const pointer = '/tools/web/search';
  const because = `is missing: tools.web.search.provider is ${JSON.stringify(provider)}`;
  if (provider === 'searxng' && !baseUrl) {
    const allowed = 'an http:// or https:// URL';
    return [{ pointer: `${pointer}/baseUrl`, message: because, allowed }];
  }
  if (provider !== undefined && provider !== 'searxng' && !apiKey) {
    const allowed =
      'a text, { env: "NAME" }, { file: "path" } or { command: ["program", "argument"] }';
    return [{ pointer: `${pointer}/apiKey`, message: because, allowed }];
  }
  return [];
}

/** A gateway that other machines can reach needs a secret. */
function gatewayIsGuarded({ gateway }: Config): Finding[] {
  const findings: Finding[] = [];
  const { mode, password } = gateway.auth;
  if (mode === 'none' && !bindsLoopback({ gateway })) {
    findings.push({
      pointer: '/gateway/auth/mode',
      value: '"none"',
      message:
        `gateway.bind is ${JSON.stringify(gateway.bind)}: others could reach the gateway, ` +
        'and without a token or a password they would all be accepted',
      allowed: '"token", "password", or gateway.bind: "loopback"',
    });
  }
  if (mode === 'password' && !password) {
    findings.push({
      pointer: '/gateway/auth/password',
      message: 'is missing: gateway.auth.mode is "password"',
      allowed: 'a text, { env: "NAME" }, { file: "path" } or { command: ["program", "argument"] }',
    });
  }
  findings.push(...proxyStands(gateway), ...noForwarderWithoutAuth(gateway));
  if (gateway.bind === 'custom' && !gateway.customBindHost) {
    findings.push({
      pointer: '/gateway/customBindHost',
      message: 'is missing: gateway.bind is "custom"',
      allowed: 'an IP address of this machine',
    });
  }
  return findings;
}

/** Mode `none` refuses forwarded connections, so naming a forwarder is a mistake. */
function noForwarderWithoutAuth({ auth }: Config['gateway']): Finding[] {
  if (auth.mode !== 'none') return [];
  const finding = (key: string): Finding => ({
    pointer: `/gateway/auth/${key}`,
    message: 'gateway.auth.mode is "none": forwarded connections are refused',
    allowed: 'no such key, or gateway.auth.mode: "token" or "password"',
  });
  return [
    ...(auth.trustedProxy ? [finding('trustedProxy')] : []),
    ...(auth.allowTailscale ? [finding('allowTailscale')] : []),
  ];
}

/** Without a named proxy, every client would count as one. */
function proxyStands({ auth }: Config['gateway']): Finding[] {
  const allowed = 'IP addresses or CIDR ranges, as "10.0.0.7" or "10.0.0.0/24"';
  const pointer = '/gateway/auth/trustedProxy/proxies';
  const { proxies = [] } = auth.trustedProxy ?? {};
  const findings: Finding[] = [];
  if (auth.mode === 'trusted-proxy' && proxies.length === 0) {
    const message = 'is missing: gateway.auth.mode is "trusted-proxy"';
    findings.push({ pointer, message, allowed });
  }
  for (const [index, proxy] of proxies.entries()) {
    if (isAddressOrRange(proxy)) continue;
    const value = JSON.stringify(proxy);
    const message = 'is neither an IP address nor a CIDR range';
    findings.push({ pointer: childPointer(pointer, index), value, message, allowed });
  }
  return findings;
}

const isAddressOrRange = (text: string): boolean => {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  const most = family === 4 ? 32 : 128;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
};

/** Tailscale forwards to loopback; a gateway open to the internet needs a secret. */
function tailscaleFits({ gateway }: Config): Finding[] {
  const { mode } = gateway.tailscale;
  const findings: Finding[] = [];
  if (mode !== 'off' && gateway.bind !== 'loopback') {
    findings.push({
      pointer: '/gateway/bind',
      value: JSON.stringify(gateway.bind),
      message: `gateway.tailscale.mode is ${JSON.stringify(mode)}, which forwards to this machine only`,
      allowed: '"loopback"',
    });
  }
  if (mode !== 'off' && gateway.tls !== undefined)
    findings.push({
      pointer: '/gateway/tls',
      message: `gateway.tailscale.mode is ${JSON.stringify(mode)}: Tailscale has the certificate, and forwards plain HTTP`,
    });
  if (mode === 'serve' && gateway.auth.mode === 'none') {
    findings.push({
      pointer: '/gateway/auth/mode',
      value: '"none"',
      message: 'gateway.tailscale.mode is "serve": the whole tailnet could reach the gateway',
      allowed: '"token" or "password"',
    });
  }
  if (mode === 'funnel' && !['token', 'password'].includes(gateway.auth.mode)) {
    findings.push({
      pointer: '/gateway/auth/mode',
      value: JSON.stringify(gateway.auth.mode),
      message: 'gateway.tailscale.mode is "funnel": the whole internet could reach the gateway',
      allowed: '"token" or "password"',
    });
  }
  return findings;
}
