/**
 * ChannelHost: the accounts of messengers in this process. It runs the effects of channel and chat
 * actors (protocols/channel-effects.ts) with the adapters, and passes requests of webhooks on.
 *
 * Boundary: it decides nothing that must survive the process. Adapters are imported when an account
 * is used for the first time, and what renders Markdown with the first message that is sent.
 */
import {
  type AccountRef,
  accountKey,
  channelAddress,
  type ChannelConfigure,
  CHANNELS_INDEX,
  type ChannelRow,
  type ConnectInput,
  type ConnectOutput,
  type InboundMedia,
  type PositionRow,
} from '../../protocols/channel.ts';
import type { ChannelEffects } from '../../protocols/channel-effects.ts';
import { errorData, isFinalCode, TroupeError } from '../../protocols/errors.ts';
import { LazyValue } from '../../protocols/lazy-value.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import type { Artifacts, Clock, System } from '../../runtime/index.ts';
import type { CommandContext } from '../commands/execute.ts';
import type { AccountSettings } from './account-settings.ts';
import type { WebhookRequest, WebhookResponse } from './adapter.ts';
import type { AdapterTable } from './adapters.ts';
import { type ChannelRules, downloaded, type MessageHooks, OpenAccount } from './open-account.ts';
import { chatCommand } from './chat-command.ts';

export type ChannelHostOptions = {
  /** by `channel:account` */
  readonly accounts: ReadonlyMap<string, AccountSettings>;
  readonly tenants: readonly string[];
  readonly adapters: AdapterTable;
  readonly system: () => Promise<System>;
  readonly rules: ChannelRules;
  readonly messageHooks: (tenant: string) => MessageHooks;
  /** what commands of a chat need to know about an agent */
  readonly models: (tenant: string, agentId: string) => Pick<CommandContext, 'model' | 'models'>;
  /** the contents of files that agents send */
  readonly files: Promise<Pick<Artifacts, 'get'>>;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
};

export class ChannelHost implements ChannelEffects {
  readonly #o: ChannelHostOptions;
  readonly #open = new Map<string, Promise<OpenAccount>>();
  readonly #sender = new LazyValue(async () => {
    const { files, clock } = this.#o;
    const { PieceSender } = await import('./piece-sender.ts');
    return new PieceSender({ account: (of) => this.account(of), files, clock });
  });
  readonly #previews = new LazyValue(async () => {
    const { system, clock } = this.#o;
    const { Previews } = await import('./previews.ts');
    const bus = async () => (await system()).bus;
    return new Previews({ account: (of) => this.account(of), clock, bus });
  });

  constructor(options: ChannelHostOptions) {
    this.#o = options;
  }

  /**
   * Sends the settings of every account to its actor: those of the configuration connect, and those
   * that are no longer in it stop.
   */
  async configure(system: Pick<System, 'tell' | 'index'>): Promise<void> {
    const { accounts, tenants } = this.#o;
    const known = tenants.flatMap((tenant) =>
      system.index
        .list<ChannelRow>(CHANNELS_INDEX, tenant)
        .map(({ value }) => ({ ...value, tenant })),
    );
    const gone = known.filter((row) => accounts.get(accountKey(row))?.tenant !== row.tenant);
    const configured = [...accounts.values()].map(({ settings, ...one }) => ({
      ...one,
      isEnabled: settings.enabled,
    }));
    const all = [...configured, ...gone.map((row) => ({ ...row, isEnabled: false, digest: '' }))];
    await Promise.all(all.map((one) => this.#configure(system, one)));
  }

  /** A failure is logged: the next start sends the settings again. */
  async #configure(
    system: Pick<System, 'tell'>,
    {
      tenant,
      isEnabled,
      digest,
      ...of
    }: Omit<AccountSettings, 'settings'> & { isEnabled: boolean },
  ): Promise<void> {
    const event: ChannelConfigure = { type: 'channel.configure', isEnabled, digest };
    const options = { principal: SYSTEM_PRINCIPAL };
    const answer = await system
      .tell(channelAddress(tenant, of), event, options)
      .catch((error: unknown) => ({ kind: 'refused' as const, error: errorData(error) }));
    if (answer.kind === 'refused')
      this.#o.log.warn({ account: accountKey(of) }, `not configured: ${answer.error.message}`);
  }

  async connect(
    input: ConnectInput,
    from: PositionRow | undefined,
    signal: AbortSignal,
  ): Promise<ConnectOutput> {
    let open: OpenAccount;
    try {
      open = await this.account(input);
    } catch (error) {
      const data = errorData(error);
      return { error: data, isFinal: isFinalCode(data.code) };
    }
    return open.connect(from, signal);
  }

  async download(of: AccountRef, media: InboundMedia, signal: AbortSignal): Promise<Uint8Array> {
    return downloaded(await this.account(of), media, signal);
  }

  readonly command: ChannelEffects['command'] = async (input, before) =>
    chatCommand(input, {
      before,
      system: await this.#o.system(),
      models: (agentId) => this.#o.models(input.tenant, agentId),
    });
  readonly send: ChannelEffects['send'] = async (input, signal) =>
    (await this.#sender.get()).send(input, signal);
  readonly reconcile: ChannelEffects['reconcile'] = async (input, signal) =>
    (await this.#sender.get()).reconcile(input, signal);
  readonly follow: ChannelEffects['follow'] = async (input, signal) =>
    (await this.#previews.get()).follow(input, signal);
  readonly edit: ChannelEffects['edit'] = async (input, signal) =>
    (await this.#previews.get()).edit(input, signal);

  /** @throws TroupeError NOT_FOUND when there is no such account, or it has no webhook */
  async webhook(of: AccountRef, request: WebhookRequest): Promise<WebhookResponse> {
    const { adapter } = await this.account(of);
    if (adapter.webhook) return adapter.webhook(request);
    throw new TroupeError('NOT_FOUND', `${accountKey(of)} receives no webhook`);
  }

  /** Closes what is open in this process. */
  async close(): Promise<void> {
    const all = await Promise.allSettled(this.#open.values());
    for (const one of all) if (one.status === 'fulfilled') await one.value.adapter.stop();
  }

  /**
   * @throws TroupeError NOT_FOUND when the configuration of this process has no such account,
   *   UNAVAILABLE when the plugin with its channel has a fault
   */
  account(of: AccountRef): Promise<OpenAccount> {
    const key = accountKey(of);
    const open = this.#open.get(key) ?? this.#openAccount(key);
    this.#open.set(key, open);
    open.catch(() => this.#open.delete(key));
    return open;
  }

  async #openAccount(key: string): Promise<OpenAccount> {
    const of = this.#o.accounts.get(key);
    if (!of) throw notConfigured(key);
    const load = this.#o.adapters[of.channel];
    if (!load) throw noAdapter(of.channel);
    const { rules, clock, log } = this.#o;
    const system = await this.#o.system();
    const messageHooks = this.#o.messageHooks(of.tenant);
    return new OpenAccount(of, {
      definition: await load(),
      system,
      rules,
      messageHooks,
      clock,
      log,
    });
  }
}

/** The channel of a plugin that cannot run here; it may be repaired, or run elsewhere. */
const noAdapter = (channel: string): TroupeError =>
  new TroupeError('UNAVAILABLE', `no plugin here has the channel ${channel}: troupe plugins`);

const notConfigured = (key: string): TroupeError =>
  new TroupeError(
    'NOT_FOUND',
    `the configuration of this process has no account ${key}: add it there, or remove the account by restarting the gateway`,
  );
