/**
 * Translates OpenClaw's `bindings` to the rules of `agents.routing`. Pure.
 *
 * Both choose the first rule that matches, in another order: OpenClaw by peer, guild, team, account
 * and channel; here the account comes first (docs/routing.md). So the account to which finer rules
 * apply gets no rule of its own: what it would say is the rule of the channel, and every other
 * account of the channel gets one. Where that is impossible, a binding is left out with the reason.
 *
 * Invariant: no message goes to another agent than in OpenClaw, except as a row says.
 */
import { agentIdOfOpenClaw } from '../../protocols/openclaw-key.ts';
import type { FoundAgent } from './config-file.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from './found.ts';

/** One binding, and the outcome. */
export type FoundBinding = {
  /** as `bindings[0]: telegram, group -100` */
  readonly id: string;
  readonly agentId: string;
  /** keys of the rule below `agents.routing`; absent: it has none */
  readonly path?: readonly string[];
  /** what is different here; without a path: why it has no rule */
  readonly note?: string;
};
export type Routing = { readonly rules: Fields; readonly bindings: readonly FoundBinding[] };

const CHANNELS = new Set(['telegram', 'slack', 'discord', 'whatsapp']);
const ANY = '*';
const NO_RULE = 'write the hook routeMessage (docs/routing.md)';

type Peer = { readonly kind: 'group' | 'direct'; readonly id: string };
type Binding = {
  readonly id: string;
  readonly agentId: string;
  readonly channel: string;
  /** `*`: every account */
  readonly account: string;
  readonly peer?: Peer;
  /** of a guild or a workspace */
  readonly guild?: string;
};

export function routingOf(config: Fields, agents: readonly FoundAgent[]): Routing {
  const ids = new Set(agents.map(({ id }) => id));
  const fallback = agents.find(({ isDefault }) => isDefault)?.id ?? 'main';
  const found = new Map<string, FoundBinding>();
  const byChannel = new Map<string, Binding[]>();
  for (const [n, value] of listOf(config['bindings']).entries()) {
    const binding = bindingOf(fieldsOf(value), n);
    const note = reasonAgainst(fieldsOf(value), binding, ids);
    found.set(binding.id, { id: binding.id, agentId: binding.agentId, ...(note && { note }) });
    if (note !== undefined) continue;
    const others = byChannel.get(binding.channel) ?? [];
    byChannel.set(binding.channel, [...others, binding]);
  }
  const rules = [...byChannel].map(([channel, bindings]) => {
    const accounts = accountsOf(config, channel, bindings);
    const draft = new ChannelDraft(channel, accounts, fallback, found);
    return [channel, draft.rulesOf(bindings)] as const;
  });
  return { rules: Object.fromEntries(rules), bindings: [...found.values()] };
}

function bindingOf(value: Fields, n: number): Binding {
  const match = fieldsOf(value['match']);
  const channel = (textOf(match['channel']) ?? '').trim().toLowerCase();
  const account = (textOf(match['accountId']) ?? 'default').trim().toLowerCase();
  const { kind, id: peerId } = fieldsOf(match['peer']);
  const peer: Peer | undefined = isFields(match['peer'])
    ? { kind: kind === 'direct' || kind === 'dm' ? 'direct' : 'group', id: idOf(peerId) }
    : undefined;
  const guild = idOf(match['guildId']) || idOf(match['teamId']);
  const words = [
    channel || 'no channel',
    account === 'default' ? '' : `account ${account}`,
    peer ? `${peer.kind} ${peer.id}` : '',
    guild ? `guild ${guild}` : '',
  ];
  return {
    id: `bindings[${n}]: ${words.filter(Boolean).join(', ')}`,
    agentId: agentIdOfOpenClaw(textOf(value['agentId']) ?? ''),
    channel,
    account,
    ...(peer ? { peer } : {}),
    ...(guild ? { guild } : {}),
  };
}

const idOf = (value: unknown): string =>
  typeof value === 'number' ? String(value) : (textOf(value) ?? '').trim();

function reasonAgainst(
  value: Fields,
  { channel, agentId, peer, guild }: Binding,
  agents: ReadonlySet<string>,
): string | undefined {
  const match = fieldsOf(value['match']);
  if (value['type'] === 'acp') return 'it starts an ACP program, and not an agent';
  if (!CHANNELS.has(channel)) return `the channel ${channel || 'is missing'} is not built in here`;
  if (!agents.has(agentId)) return `there is no agent ${agentId}`;
  if (peer?.id === '' || peer?.id === '__proto__') return 'its peer has no id';
  if (peer && /:(topic|thread):/.test(peer.id))
    return `it is for one topic, and rules here are for groups: ${NO_RULE}`;
  if (listOf(match['roles']).length > 0) return `rules here know no roles: ${NO_RULE}`;
  return peer && guild ? `rules here are for a peer or a guild: ${NO_RULE}` : undefined;
}

/** The accounts of a channel: those of the configuration, and those that bindings name. */
function accountsOf(config: Fields, channel: string, bindings: readonly Binding[]) {
  const own = fieldsOf(fieldsOf(config['channels'])[channel]);
  const named = Object.keys(fieldsOf(own['accounts'])).map((name) => name.toLowerCase());
  const bound = bindings.map(({ account }) => account).filter((account) => account !== ANY);
  const all = new Set([...named, ...bound]);
  return all.size === 0 ? ['default'] : [...all];
}

type Rules = { [name: string]: { agent: string } | Rules };

/** The rules of one channel. */
class ChannelDraft {
  readonly #rules: Rules = {};
  readonly #channel: string;
  readonly #accounts: readonly string[];
  readonly #fallback: string;
  readonly #found: Map<string, FoundBinding>;
  /** accounts with a rule of their own, which comes before all others */
  readonly #pinned = new Set<string>();

  constructor(
    channel: string,
    accounts: readonly string[],
    fallback: string,
    found: Map<string, FoundBinding>,
  ) {
    this.#channel = channel;
    this.#accounts = accounts;
    this.#fallback = fallback;
    this.#found = found;
  }

  rulesOf(bindings: readonly Binding[]): Rules {
    const isFine = ({ peer, guild }: Binding) => peer !== undefined || guild !== undefined;
    const fine = bindings.filter(isFine);
    const coarse = bindings.filter((binding) => !isFine(binding));
    const rest = this.#addCoarse(coarse, fine);
    const isEveryGroup = ({ peer }: Binding) => peer?.kind === 'group' && peer.id === ANY;
    const hasEveryGroup = fine.some(isEveryGroup);
    // Ids before `*`, and every direct message last: it is what the other rules leave.
    for (const binding of fine.toSorted((a, b) => rankOf(a) - rankOf(b))) {
      if (binding.guild && hasEveryGroup)
        this.#leaveOut(binding, 'a binding of every group comes before it');
      else this.#addFine(binding, rest);
    }
    this.#keepGroups(rest);
    return this.#rules;
  }

  /** Rules of accounts and of the channel. Returns the agent of messages without a finer rule. */
  #addCoarse(coarse: readonly Binding[], fine: readonly Binding[]): string {
    const reached = this.#accounts.filter((account) => fine.some((one) => isFor(one, account)));
    const open = this.#accounts.length === 1 ? this.#accounts[0] : onlyOf(reached);
    const ofChannel = coarse.find(({ account }) => account === ANY);
    for (const account of this.#accounts) {
      const own = coarse.find((binding) => binding.account === account);
      if (account === open) continue;
      if (own) this.#set(own, ['accounts', account]);
      else if (open !== undefined || (fine.length > 0 && !reached.includes(account)))
        this.#pin(account, ofChannel?.agentId ?? this.#fallback);
    }
    const ofOpen = coarse.find(({ account }) => account === open) ?? ofChannel;
    if (ofOpen) this.#set(ofOpen, [ANY]);
    if (ofChannel && ofOpen !== ofChannel && this.#accounts.length > 1)
      this.#note(ofChannel, ['accounts'], 'as the rule of each other account');
    for (const binding of coarse)
      if (!this.#isSet(binding)) this.#leaveOut(binding, 'an earlier binding decides');
    return ofOpen?.agentId ?? this.#fallback;
  }

  #addFine(binding: Binding, rest: string): void {
    const { peer, guild = '', account } = binding;
    const reached = this.#accounts.filter((one) => isFor(binding, one));
    const masked = reached.filter((one) => this.#pinned.has(one));
    if (masked.length === reached.length)
      return this.#leaveOut(
        binding,
        `account ${masked.join(', ')} has a rule of its own, which comes first here: ${NO_RULE}`,
      );
    const also = this.#accounts.filter((one) => account !== ANY && one !== account);
    const note = [
      masked.length > 0 ? `not in account ${masked.join(', ')}, whose own rule comes first` : '',
      ...also.filter((one) => !this.#pinned.has(one)).map((one) => `also in account ${one}`),
    ];
    const path = peer
      ? peer.kind === 'group'
        ? ['groups', peer.id]
        : [peer.id]
      : ['guilds', guild];
    if (path[0] === ANY) this.#moveToGroups(rest);
    this.#set(binding, path, note.filter(Boolean).join('; ') || undefined);
  }

  /** What `*` says is for groups only: direct messages have another rule. */
  #moveToGroups(agent: string): void {
    this.#keepGroups(agent, true);
    delete this.#rules[ANY];
    for (const { id, agentId, path } of this.#found.values())
      if (path?.join() === [this.#channel, ANY].join())
        this.#note({ id, agentId }, ['groups', ANY], 'for groups only');
  }

  /** A rule of a sender is for groups, too, unless groups have one. */
  #keepGroups(agent: string, always = false): void {
    const reserved = new Set([ANY, 'accounts', 'groups', 'guilds']);
    const hasSenders = Object.keys(this.#rules).some((name) => !reserved.has(name));
    if (!hasSenders && !always) return;
    const groups = (this.#rules['groups'] ??= {}) as Rules;
    groups[ANY] ??= { agent };
  }

  #pin(account: string, agent: string): void {
    this.#pinned.add(account);
    const accounts = (this.#rules['accounts'] ??= {}) as Rules;
    accounts[account] = { agent };
  }

  #set(binding: Binding, path: readonly string[], note?: string): void {
    const [first = '', second] = path;
    const table = second === undefined ? this.#rules : ((this.#rules[first] ??= {}) as Rules);
    const name = second ?? first;
    if (Object.hasOwn(table, name)) return this.#leaveOut(binding, 'an earlier binding decides');
    table[name] = { agent: binding.agentId };
    if (first === 'accounts') this.#pinned.add(name);
    this.#note(binding, path, note);
  }

  #isSet({ id }: Binding): boolean {
    return this.#found.get(id)?.path !== undefined;
  }

  #note(of: Pick<Binding, 'id' | 'agentId'>, path: readonly string[], note?: string): void {
    const { id, agentId } = of;
    const rule = [this.#channel, ...path];
    this.#found.set(id, { id, agentId, path: rule, ...(note ? { note } : {}) });
  }

  #leaveOut({ id, agentId }: Binding, note: string): void {
    this.#found.set(id, { id, agentId, note });
  }
}

const isFor = ({ account }: Binding, of: string): boolean => account === ANY || account === of;
const onlyOf = <T>(all: readonly T[]): T | undefined => (all.length === 1 ? all[0] : undefined);
const rankOf = ({ peer }: Binding): number =>
  peer?.id !== ANY ? 0 : peer.kind === 'group' ? 1 : 2;
