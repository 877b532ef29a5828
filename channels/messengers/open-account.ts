/** OpenAccount: an account with its adapter in this process, and how its messages enter. */
import {
  type AccountRef,
  accountKey,
  type Admission,
  channelAddress,
  type ChannelConnected,
  type ChannelPosition,
  type ConnectOutput,
  type InboundMedia,
  type InboundMessage,
  type PositionRow,
  type Route,
} from '../../protocols/channel.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Clock, System } from '../../runtime/index.ts';
import { mayBeCommand } from './chat-command.ts';
import type { AccountSettings } from './account-settings.ts';
import type { Abilities, AccountAdapter, ChannelAdapter } from './adapter.ts';
import { Entry } from './entry.ts';
import { Lanes } from './lanes.ts';
import { Observed } from './observed.ts';

/** Who may write, and where messages go. Pure functions of the configuration. */
export type ChannelRules = {
  admit(of: AccountSettings, message: InboundMessage, isApproved: boolean): Admission;
  route(of: AccountSettings, message: InboundMessage): Route;
};

export type OpenAccountOptions = {
  readonly definition: ChannelAdapter;
  readonly system: Pick<System, 'tell' | 'index' | 'bus'>;
  readonly rules: ChannelRules;
  readonly messageHooks: MessageHooks;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
};

/** Which hooks of messages a tenant has. */
export type MessageHooks = {
  readonly received: boolean;
  /** `message_sending` may change or stop a reply */
  readonly sending: boolean;
  readonly sent: boolean;
};

export class OpenAccount {
  readonly of: AccountSettings;
  readonly abilities: Abilities;
  readonly adapter: AccountAdapter;
  readonly lanes: Lanes;
  readonly observed: Observed;
  readonly #o: OpenAccountOptions;

  constructor(of: AccountSettings, options: OpenAccountOptions) {
    const { definition, clock, log } = options;
    this.of = of;
    this.#o = options;
    this.abilities = definition.abilities;
    this.lanes = new Lanes(clock, this.abilities.pace);
    this.observed = new Observed(clock, (counts) => void this.#report(counts));
    const entry = this.#entry();
    this.adapter = definition.create({
      account: of.account,
      settings: of.settings,
      clock,
      log,
      onMessages: (messages) => entry.accept(messages),
      onTyping: () => {},
      onOutcome: (proof) => entry.prove(proof),
    });
  }

  /** Ends with the connection. */
  async connect(from: PositionRow | undefined, signal: AbortSignal): Promise<ConnectOutput> {
    let connectedAs = '';
    return this.adapter.start({
      identity: from?.identity,
      position: from?.position ?? undefined,
      signal,
      onConnected: (as, name) => {
        connectedAs = as;
        const event: ChannelConnected = {
          type: 'channel.connected',
          identity: as,
          ...(name === undefined ? {} : { name }),
        };
        return this.#tell(event);
      },
      onPosition: (next) => {
        const event: ChannelPosition = {
          type: 'channel.position',
          identity: connectedAs,
          position: next,
        };
        return this.#tell(event);
      },
    });
  }

  /** A reply that a hook may still change or stop is not shown while it is written. */
  get showsPreviews(): boolean {
    const { abilities, adapter, of } = this;
    const isEditable = abilities.edit && adapter.edit !== undefined;
    return isEditable && of.settings.streaming === 'edit' && !this.#o.messageHooks.sending;
  }

  #entry(): Entry {
    const { system, rules, messageHooks, log } = this.#o;
    const { of, observed } = this;
    return new Entry(of, {
      system,
      observed,
      admit: (message, isApproved) => rules.admit(of, message, isApproved),
      route: (message) => rules.route(of, message),
      needsPreparation: ({ media = [], text }) =>
        media.length > 0 || messageHooks.received || mayBeCommand(text),
      isObserved: messageHooks.sent,
      onDropped: ({ key }, why) => log.warn({ account: accountKey(of), key }, why),
    });
  }

  /** @throws TroupeError when it is not known to be stored */
  async #tell(event: Message): Promise<void> {
    const { of } = this;
    const options = { principal: SYSTEM_PRINCIPAL };
    const answer = await this.#o.system.tell(channelAddress(of.tenant, of), event, options);
    if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  }

  /** Counts are for people; a lost report is not repeated. */
  #report(event: Message): Promise<void> {
    return this.#tell(event).catch((error: unknown) =>
      this.#o.log.warn({ account: accountKey(this.of) }, errorData(error).message),
    );
  }
}

/**
 * @throws TroupeError PAYLOAD_TOO_LARGE, FORBIDDEN when the account receives no files, UNAVAILABLE
 */
export async function downloaded(
  { adapter, abilities, of }: OpenAccount,
  media: InboundMedia,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const most = Math.min(of.settings.mediaBytesMax, abilities.media?.bytesMax ?? 0);
  if (!adapter.download || most === 0)
    throw new TroupeError('FORBIDDEN', 'this account receives no files');
  if (media.bytes !== undefined && media.bytes > most) throw tooLarge(media.bytes, most);
  const bytes = await adapter.download(media, signal);
  if (bytes.length > most) throw tooLarge(bytes.length, most);
  return bytes;
}

const tooLarge = (bytes: number, most: number): TroupeError =>
  new TroupeError('PAYLOAD_TOO_LARGE', `it has ${bytes} bytes, the limit is ${most}`);

export type FindAccount = (of: AccountRef) => Promise<OpenAccount>;
