/** What this plugin uses of Baileys 7.0.0-rc14. The package itself is not one of troupe's. */
declare module 'baileys' {
  export type Key = {
    readonly remoteJid?: string | null;
    /** the phone number of a LID, or the LID of a phone number */
    readonly remoteJidAlt?: string | null;
    readonly participant?: string | null;
    readonly participantAlt?: string | null;
    readonly fromMe?: boolean | null;
    readonly id?: string | null;
  };

  export type ContextInfo = {
    readonly mentionedJid?: readonly string[] | null;
    /** of a reply: the message that it answers, and its author */
    readonly stanzaId?: string | null;
    readonly participant?: string | null;
  };

  /** One kind of content: a text, or a file with its caption. */
  export type Part = {
    readonly text?: string | null;
    readonly caption?: string | null;
    readonly contextInfo?: ContextInfo | null;
    readonly mediaKey?: Uint8Array | null;
    readonly directPath?: string | null;
    readonly mimetype?: string | null;
    readonly fileName?: string | null;
    readonly fileLength?: number | string | object | null;
    /** of a wrapper: the message in it */
    readonly message?: Content | null;
    /** of a reaction: the message that it is about */
    readonly key?: Key | null;
  };

  export type Content = {
    readonly conversation?: string | null;
    readonly extendedTextMessage?: Part | null;
    readonly imageMessage?: Part | null;
    readonly stickerMessage?: Part | null;
    readonly videoMessage?: Part | null;
    readonly audioMessage?: Part | null;
    readonly documentMessage?: Part | null;
    readonly reactionMessage?: Part | null;
    readonly ephemeralMessage?: Part | null;
    readonly viewOnceMessage?: Part | null;
    readonly viewOnceMessageV2?: Part | null;
    readonly documentWithCaptionMessage?: Part | null;
  };

  export type WebMessage = {
    readonly key: Key;
    readonly message?: Content | null;
    readonly pushName?: string | null;
    readonly messageTimestamp?: number | object | null;
  };

  export type Creds = {
    me?: { readonly id: string; readonly lid?: string; readonly name?: string };
    /** what the phone has signed: the only evidence that linking succeeded */
    account?: object;
    [field: string]: unknown;
  };

  export type KeySet = { readonly [type: string]: { readonly [id: string]: unknown } };

  export type Auth = {
    readonly creds: Creds;
    readonly keys: {
      get(type: string, ids: readonly string[]): Promise<Record<string, unknown>>;
      set(keys: KeySet): Promise<void>;
    };
  };

  export type Outgoing =
    | { readonly text: string; readonly edit?: Key; readonly linkPreview?: null }
    | { readonly image: Uint8Array; readonly mimetype: string; readonly jpegThumbnail: null }
    | { readonly document: Uint8Array; readonly mimetype: string; readonly fileName: string };

  export type ConnectionUpdate = {
    readonly connection?: 'open' | 'connecting' | 'close';
    readonly lastDisconnect?: { readonly error?: unknown };
    readonly qr?: string;
  };

  export type Events = {
    'connection.update': ConnectionUpdate;
    'creds.update': Partial<Creds>;
    'messages.upsert': { readonly messages: readonly WebMessage[] };
  };

  export type Ack = { readonly attrs: { readonly id?: string; readonly error?: string } };

  export type Socket = {
    readonly ev: {
      on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void;
    };
    readonly ws: { on(name: 'CB:ack,class:message', listener: (ack: Ack) => void): unknown };
    readonly signalRepository: {
      readonly lidMapping: { getPNForLID(lid: string): Promise<string | null | undefined> };
    };
    end(error?: Error): Promise<void>;
    requestPairingCode(phoneNumber: string): Promise<string>;
    sendMessage(
      jid: string,
      content: Outgoing,
      options: { readonly messageId: string; readonly quoted?: WebMessage },
    ): Promise<unknown>;
    sendPresenceUpdate(type: 'composing', jid: string): Promise<void>;
  };

  export function makeWASocket(config: {
    readonly auth: Auth;
    readonly logger: object;
    readonly waWebSocketUrl?: string;
    readonly emitOwnEvents: boolean;
    readonly markOnlineOnConnect: boolean;
    readonly syncFullHistory: boolean;
    readonly shouldIgnoreJid: (jid: string) => boolean;
  }): Socket;
  export function initAuthCreds(): Creds;
  export function downloadContentFromMessage(
    file: { readonly mediaKey: Uint8Array; readonly directPath: string },
    type: string,
    options: { readonly host: string; readonly options: { readonly signal: AbortSignal } },
  ): Promise<AsyncIterable<Uint8Array>>;
  export const proto: {
    readonly Message: {
      readonly AppStateSyncKeyData: { fromObject(fields: object): unknown };
    };
  };
}
