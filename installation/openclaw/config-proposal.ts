/**
 * Translates the configuration of OpenClaw into a proposal for a configuration file of troupe, and
 * lists what it leaves out. Pure.
 *
 * Invariant: a secret never enters the proposal, only a reference to it.
 */
import { type FoundBinding, routingOf } from './bindings.ts';
import { agentsIn } from './config-file.ts';
import { type Fields, fieldsOf, isFields, listOf, numberOf, textOf } from './found.ts';
import { environmentName, keyVariable } from './secrets.ts';

export type SecretReference = { readonly env: string } | { readonly file: string };
export type Proposal = {
  readonly config: Fields;
  /** the outcome of each binding */
  readonly bindings: readonly FoundBinding[];
  /** keys of OpenClaw that have no effect here, with the reason where there is one */
  readonly leftOut: readonly { readonly key: string; readonly reason: string }[];
};

type Draft = {
  readonly source: Fields;
  /** for the variable of a secret, what the proposal says */
  readonly refer: (env: string) => SecretReference;
  readonly used: Set<string>;
  readonly reasons: Map<string, string>;
};

const APIS = new Set([
  'openai-completions',
  'openai-responses',
  'anthropic-messages',
  'google-generative-ai',
]);
const REASONS: Readonly<Record<string, string>> = {
  gateway: 'troupe has its own address and token; both programs use port 18789',
  meta: 'about OpenClaw itself',
  wizard: 'about OpenClaw itself',
  plugins: 'plugins of OpenClaw do not run here (docs/plugins.md)',
  hooks: 'hooks of OpenClaw do not run here (docs/hooks.md)',
};

/** @param refer default: the variable itself */
export function proposalOf(
  source: Fields,
  refer: (env: string) => SecretReference = (env) => ({ env }),
): Proposal {
  const draft: Draft = {
    source,
    refer,
    used: new Set(),
    reasons: new Map(Object.entries(REASONS)),
  };
  const routing = routingOf(source, agentsIn(source));
  draft.used.add('bindings');
  const config = pruned({
    agents: { ...agentsOf(draft), routing: routing.rules },
    session: sessionOf(draft),
    messages: { queue: queueOf(draft) },
    memory: { search: memoryOf(draft) },
    models: { providers: providersOf(draft) },
    channels: channelsOf(draft),
  });
  const leftOut = leavesOf(source)
    .filter((key) => ![...draft.used].some((one) => key === one || key.startsWith(`${one}.`)))
    .map((key) => ({ key, reason: reasonOf(key, draft.reasons) }));
  for (const { id, path, note = '' } of routing.bindings)
    if (path === undefined) leftOut.push({ key: id, reason: note });
  return { config: fieldsOf(config), bindings: routing.bindings, leftOut };
}

/** The value at a path, which counts as used. */
function take({ source, used }: Draft, path: string): unknown {
  used.add(path);
  return at(source, path);
}
const at = (source: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => fieldsOf(value)[name], source);

function modelOf(value: unknown): Fields {
  if (textOf(value)) return { model: value };
  const { primary, fallbacks } = fieldsOf(value);
  return { model: textOf(primary), fallbacks: listOf(fallbacks).filter(textOf) };
}

function agentsOf(draft: Draft): Fields {
  const seconds = numberOf(take(draft, 'agents.defaults.timeoutSeconds'));
  const own = 'agents.defaults';
  // The agents themselves; their other settings are listed.
  for (const name of ['list', 'entries', 'agents']) draft.used.add(`agents.${name}`);
  draft.used.add(`${own}.workspace`);
  return {
    defaults: {
      ...modelOf(take(draft, `${own}.model`)),
      timeoutSeconds: seconds && seconds >= 1 && seconds <= 172_800 ? seconds : undefined,
      thinkingLevel: oneOf(take(draft, `${own}.thinkingDefault`), LEVELS),
    },
    agents: agentsIn(draft.source).map(({ id, name, isDefault, config }) => ({
      id,
      default: isDefault || undefined,
      ...modelOf(config['model']),
      identity: {
        name: name ?? textOf(fieldsOf(config['identity'])['name']),
        emoji: textOf(fieldsOf(config['identity'])['emoji']),
      },
    })),
  };
}
const LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const SCOPES = ['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer'];
const MODES = ['steer', 'followup', 'collect', 'interrupt'];
const oneOf = (value: unknown, allowed: readonly string[]) => allowed.find((one) => one === value);

function sessionOf(draft: Draft): Fields {
  const reset = fieldsOf(at(draft.source, 'session.reset'));
  if (reset['mode'] === 'daily' || reset['mode'] === 'idle') draft.used.add('session.reset');
  return {
    mainKey: textOf(take(draft, 'session.mainKey'))?.toLowerCase(),
    dmScope: oneOf(take(draft, 'session.dmScope'), SCOPES),
    identityLinks: linksOf(fieldsOf(take(draft, 'session.identityLinks'))),
    reset: {
      atHour: reset['mode'] === 'daily' ? (numberOf(reset['atHour']) ?? 4) : undefined,
      idleMinutes: reset['mode'] === 'idle' ? numberOf(reset['idleMinutes']) : undefined,
    },
  };
}

/** OpenClaw writes the name in lower case into keys, and two names may become one. */
function linksOf(links: Fields): Fields {
  const joined: Record<string, unknown[]> = {};
  for (const [name, ids] of Object.entries(links))
    joined[name.toLowerCase()] = [...(joined[name.toLowerCase()] ?? []), ...listOf(ids)];
  return joined;
}

function queueOf(draft: Draft): Fields {
  const queue = 'messages.queue';
  return {
    mode: oneOf(take(draft, `${queue}.mode`), MODES),
    debounceMs: numberOf(take(draft, `${queue}.debounceMs`)),
    cap: numberOf(take(draft, `${queue}.cap`)),
  };
}

/** Until 2026.7 below `agents.defaults.memorySearch`, since then in `memory.search`. */
function memoryOf(draft: Draft): Fields {
  const base = ['memory.search', 'agents.defaults.memorySearch'].find(
    (path) => at(draft.source, path) !== undefined,
  );
  if (base === undefined) return {};
  const number = (path: string) => numberOf(take(draft, `${base}.query.${path}`));
  const flag = (path: string) => {
    const value = take(draft, `${base}.query.${path}`);
    return typeof value === 'boolean' ? value : undefined;
  };
  const provider = textOf(take(draft, `${base}.provider`));
  const model = textOf(take(draft, `${base}.model`));
  draft.reasons.set(`${base}.query.minScore`, 'scores have another scale here');
  draft.reasons.set(base, 'no such setting; the index is rebuilt');
  const sources = listOf(take(draft, `${base}.sources`));
  return {
    model: provider && model ? `${provider}/${model}` : undefined,
    dimensions: numberOf(take(draft, `${base}.outputDimensionality`)),
    maxResults: number('maxResults'),
    vectorWeight: number('hybrid.vectorWeight'),
    textWeight: number('hybrid.textWeight'),
    sessions: sources.includes('sessions') || undefined,
    mmr: { enabled: flag('hybrid.mmr.enabled'), lambda: number('hybrid.mmr.lambda') },
    decay: {
      enabled: flag('hybrid.temporalDecay.enabled'),
      halfLifeDays: number('hybrid.temporalDecay.halfLifeDays'),
    },
  };
}

function providersOf(draft: Draft): Fields {
  const providers = Object.entries(fieldsOf(at(draft.source, 'models.providers')));
  return Object.fromEntries(
    providers.map(([name, value]) => {
      const path = `models.providers.${name}`;
      const api = textOf(take(draft, `${path}.api`));
      const apiKey = take(draft, `${path}.apiKey`);
      draft.used.add(`${path}.models`);
      return [
        name,
        {
          baseUrl: withoutLogin(textOf(take(draft, `${path}.baseUrl`))),
          api: api && APIS.has(api) ? api : undefined,
          apiKey: apiKey === undefined ? undefined : reference(draft, apiKey, keyVariable(name)),
          models: listOf(fieldsOf(value)['models']).map((model) => {
            const { id, contextWindow, maxTokens } = fieldsOf(model);
            return { id, contextWindow, maxTokens };
          }),
        },
      ];
    }),
  );
}

/** Of `https://user:password@host`, the login is a secret. */
const withoutLogin = (url: string | undefined): string | undefined =>
  url?.replace(/^(\w+:\/\/)[^/?#]*@/, '$1');

/** `${NAME}` stays this variable; a text in the file is referred to by a name of its own. */
function reference(draft: Draft, value: unknown, env: string): SecretReference | undefined {
  const named = /^\$\{([A-Z_][A-Z0-9_]*)\}$/.exec(textOf(value) ?? '')?.[1];
  if (named !== undefined) return { env: named };
  const { source, id } = fieldsOf(value);
  if (source === 'env' && textOf(id)) return { env: String(id) };
  return textOf(value) ? draft.refer(env) : undefined;
}

/** The secrets of an account, by their names there and here. */
const TOKENS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  telegram: { botToken: 'token' },
  discord: { token: 'token' },
  slack: { botToken: 'botToken', appToken: 'appToken', signingSecret: 'signingSecret' },
};

/** Disabled: a bot that two programs read from answers twice, or not at all. */
function channelsOf(draft: Draft): Fields {
  const channels = fieldsOf(draft.source['channels']);
  draft.reasons.set('channels', 'connect it again (docs/channels.md)');
  return Object.fromEntries(
    Object.entries(TOKENS).flatMap(([channel, tokens]) => {
      if (!isFields(channels[channel])) return [];
      const accounts = fieldsOf(at(channels[channel], 'accounts'));
      const named = Object.keys(accounts).map((name) => [
        name.toLowerCase(),
        `channels.${channel}.accounts.${name}`,
      ]);
      const places = named.length > 0 ? named : [['default', `channels.${channel}`]];
      const mapped = places.map(([name = '', path = '']) => [name, accountOf(draft, path, tokens)]);
      return [[channel, { accounts: Object.fromEntries(mapped) }]];
    }),
  );
}

function accountOf(draft: Draft, path: string, tokens: Readonly<Record<string, string>>): Fields {
  const secrets = Object.entries(tokens).map(([there, here]) => {
    const value = take(draft, `${path}.${there}`);
    return [here, reference(draft, value, environmentName(`${path}.${there}`))];
  });
  const ids = listOf(take(draft, `${path}.allowFrom`)).map(String);
  draft.used.add(`${path}.enabled`);
  return {
    enabled: false,
    dmPolicy: oneOf(take(draft, `${path}.dmPolicy`), ['pairing', 'allowlist', 'open', 'disabled']),
    allowFrom: ids.filter((id) => id !== '*'),
    ...Object.fromEntries(secrets),
  };
}

/** Without undefined values, empty objects and empty lists. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? value.map(pruned) : undefined;
  if (!isFields(value)) return value;
  const kept = Object.entries(value).flatMap(([name, below]) => {
    const one = pruned(below);
    return one === undefined ? [] : [[name, one] as const];
  });
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** The paths of all values; a list is one value. */
function leavesOf(value: unknown, path: readonly string[] = []): readonly string[] {
  if (!isFields(value)) return [path.join('.')];
  return Object.entries(value).flatMap(([name, below]) => leavesOf(below, [...path, name]));
}

function reasonOf(key: string, reasons: ReadonlyMap<string, string>): string {
  for (let path = key; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('.')))) {
    const reason = reasons.get(path);
    if (reason !== undefined) return reason;
  }
  return 'no such setting';
}
