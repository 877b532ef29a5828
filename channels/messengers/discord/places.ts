/**
 * Places: which chat a channel of Discord is. A thread is a channel of its own, whose parent is the
 * chat; events name neither the parent nor, with REST, the guild. Both come from the events of the
 * guild, or from a request.
 */
import type { REST } from '@discordjs/rest';
import {
  type APIChannel,
  type APIRole,
  ChannelType,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
} from 'discord-api-types/v10';
import type { ChatRef } from '../../../protocols/channel.ts';
import { LruMap } from '../../../runtime/index.ts';
import { isHidden } from './failures.ts';
import type { Place } from './inbound.ts';

const THREADS: ReadonlySet<ChannelType> = new Set([
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
]);
const DMS: ReadonlySet<ChannelType> = new Set([ChannelType.DM, ChannelType.GroupDM]);
const CHANNELS_MAX = 10_000;
const GUILDS_MAX = 2_500;

type Known = Pick<APIChannel, 'id' | 'type'> & {
  readonly guild_id?: string | undefined;
  readonly parent_id?: string | null | undefined;
};

/** What an event or a message says about its channel. */
export type ChannelFacts = {
  readonly channel_id: string;
  readonly guild_id?: string | undefined;
  readonly channel_type?: ChannelType;
};

export class Places {
  readonly #rest: REST;
  readonly #botId: string;
  readonly #chats = new LruMap<string, ChatRef>(CHANNELS_MAX);
  /** by guild: the role that belongs to the bot, '' if there is none */
  readonly #roles = new LruMap<string, string>(GUILDS_MAX);

  constructor(rest: REST, botId: string) {
    this.#rest = rest;
    this.#botId = botId;
  }

  /** Learns from events of guilds and threads. */
  observe(event: GatewayDispatchPayload): void {
    switch (event.t) {
      case GatewayDispatchEvents.GuildCreate: {
        const { id, roles, threads } = event.d;
        this.#roles.set(id, this.#ownRole(roles));
        for (const thread of threads) this.#add({ ...(thread as Known), guild_id: id });
        return;
      }
      case GatewayDispatchEvents.ThreadCreate:
        this.#add(event.d);
        return;
      default:
    }
  }

  /** @throws errors of the SDK, except that Discord hides the channel */
  async of(facts: ChannelFacts, mentionedRoles: readonly string[] = []): Promise<Place> {
    const chat = await this.#chat(facts);
    if (mentionedRoles.length === 0 || chat.guild === undefined) return { chat };
    return { chat, botRole: await this.#role(chat.guild) };
  }

  async #chat({ channel_id: id, guild_id: guild, channel_type: type }: ChannelFacts) {
    const known = this.#chats.get(id);
    if (known) return known;
    const isClear = type !== undefined && (DMS.has(type) || guild !== undefined);
    if (isClear && !THREADS.has(type)) return this.#add({ id, type, guild_id: guild } as Known);
    return this.#add(await this.#fetch(id, guild));
  }

  async #fetch(id: string, guild: string | undefined): Promise<Known> {
    try {
      return (await this.#rest.get(`/channels/${id}`)) as Known;
    } catch (error) {
      if (!isHidden(error)) throw error;
      return {
        id,
        type: guild === undefined ? ChannelType.DM : ChannelType.GuildText,
        guild_id: guild,
      };
    }
  }

  #add({ id, type, guild_id: guild, parent_id: parent }: Known): ChatRef {
    const chat: ChatRef = DMS.has(type)
      ? { kind: 'dm', id }
      : {
          kind: 'group',
          ...(THREADS.has(type) && parent ? { id: parent, thread: id } : { id }),
          ...(guild === undefined ? {} : { guild }),
        };
    this.#chats.set(id, chat);
    return chat;
  }

  async #role(guild: string): Promise<string> {
    const known = this.#roles.get(guild);
    if (known !== undefined) return known;
    const role = this.#ownRole((await this.#rest.get(`/guilds/${guild}/roles`)) as APIRole[]);
    this.#roles.set(guild, role);
    return role;
  }

  #ownRole(roles: readonly APIRole[]): string {
    return roles.find(({ tags }) => tags?.bot_id === this.#botId)?.id ?? '';
  }
}
