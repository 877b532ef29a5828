/**
 * Agent cards: what an agent offers, where, and how callers authenticate. A card contains no secret
 * and is signed with the keys of the installation (JWS over RFC 8785), with two of them during a
 * rotation; `jku` names where to read the public ones.
 */
import { createHash } from 'node:crypto';
import {
  AgentCard,
  type AgentInterface,
  type AgentSkill,
  canonicalizeAgentCard,
  generateAgentCardSignature,
} from '@a2a-js/sdk';
import type { ActionSpec } from '../../protocols/action.ts';
import { DEDUPLICATION_EXTENSION } from '../../protocols/agent2agent.ts';
import { LruMap } from '../../runtime/index.ts';
import { SIGNING_ALG, type Signer } from '../edge/identity/signer.ts';
import { schemaUrl } from '../http/registry.ts';
import { newestSchema } from '../../protocols/models/function-call.ts';
import type { ServedAgent } from './agents.ts';

/** Extension: events of a stream have ids, and `Last-Event-ID` returns those that were missed. */
export const EVENT_IDS_EXTENSION = 'urn:troupe:agent2agent:event-ids:1';
export const VERSION = '1.0';
export const LEGACY_VERSION = '0.3';
/** Signed cards; the one signed first is dropped. */
const SIGNED_MAX = 1_000;

export type CardsOptions = {
  readonly signer: Pick<Signer, 'keys'>;
  /** base URL of this gateway for other programs, without a final slash */
  readonly publicUrl: () => string;
  /** whether clients of 0.3 are served */
  readonly legacy: boolean;
};

export type SignedCard = { readonly card: AgentCard; readonly etag: string };

export class Cards {
  readonly #o: CardsOptions;
  readonly #signed = new LruMap<string, SignedCard>(SIGNED_MAX);

  constructor(options: CardsOptions) {
    this.#o = options;
  }

  /** @param path of the agent, as `/a2a/main` */
  async signed(agent: ServedAgent, path: string): Promise<SignedCard> {
    const unsigned = this.#card(agent, path);
    const text = canonicalizeAgentCard(unsigned);
    const known = this.#signed.get(text);
    if (known) return known;
    const jku = `${this.#o.publicUrl()}/.well-known/jwks.json`;
    let card = unsigned;
    for (const { kid, key } of this.#o.signer.keys) {
      const header = { alg: SIGNING_ALG, typ: 'JOSE', kid, jku };
      card = await generateAgentCardSignature(key, header)(card);
    }
    const hash = createHash('sha256').update(JSON.stringify(AgentCard.toJSON(card)));
    const signed = { card, etag: `"${hash.digest('base64url')}"` };
    this.#signed.set(text, signed);
    return signed;
  }

  #card({ id, version, actions, chat }: ServedAgent, path: string): AgentCard {
    const base = this.#o.publicUrl();
    return {
      name: id,
      description: descriptionOf(id, chat !== undefined, actions),
      version,
      supportedInterfaces: interfacesOf(`${base}${path}`, this.#o.legacy),
      provider: undefined,
      capabilities: {
        streaming: true,
        pushNotifications: true,
        extendedAgentCard: true,
        extensions: EXTENSIONS,
      },
      securitySchemes: { bearer: BEARER },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: chat ? ['text/plain', 'application/json'] : ['application/json'],
      defaultOutputModes: chat ? ['text/markdown', 'application/json'] : ['application/json'],
      skills: [
        ...(chat ? [chatSkill(id, chat)] : []),
        ...actions.map((spec) => skillOf(spec, base)),
      ],
      signatures: [],
    };
  }
}

const EXTENSIONS = [
  {
    uri: EVENT_IDS_EXTENSION,
    description:
      'Events of streams have ids. SubscribeToTask with the header Last-Event-ID returns, after the task, the events that were missed.',
    required: false,
    params: undefined,
  },
  {
    uri: DEDUPLICATION_EXTENSION,
    description:
      'A message with the messageId of an earlier one of the same client and context is not done again: it gets the task of that one.',
    required: false,
    params: undefined,
  },
];

const descriptionOf = (id: string, isChat: boolean, actions: readonly ActionSpec[]): string =>
  isChat
    ? `${id}, an agent of a troupe installation. Messages of one context are one conversation.`
    : `${id}, an agent of a troupe installation with the actions ${actions
        .map(({ action }) => action)
        .join(', ')}.`.replace(' with the actions .', '.');

const interfacesOf = (url: string, legacy: boolean): AgentInterface[] => {
  const one = (protocolBinding: string, at: string, protocolVersion: string) => ({
    url: at,
    protocolBinding,
    protocolVersion,
    tenant: '',
  });
  return [
    one('JSONRPC', url, VERSION),
    one('HTTP+JSON', `${url}/v1`, VERSION),
    ...(legacy ? [one('JSONRPC', url, LEGACY_VERSION)] : []),
  ];
};

const BEARER: AgentCard['securitySchemes'][string] = {
  scheme: {
    $case: 'httpAuthSecurityScheme',
    value: {
      description: 'A token of an issuer that this gateway accepts, or of `troupe token`',
      scheme: 'bearer',
      bearerFormat: 'JWT',
    },
  },
};

const chatSkill = (id: string, { roles }: ActionSpec): AgentSkill => ({
  id: 'chat',
  name: `Chat with ${id}`,
  description: 'Answers a text. Messages with the same contextId continue the conversation.',
  tags: ['chat', ...tagsOf(roles)],
  examples: [],
  inputModes: ['text/plain'],
  outputModes: ['text/markdown'],
  securityRequirements: [],
});

/** A caller needs one of these roles. */
const tagsOf = (roles: readonly string[]): readonly string[] => roles.map((role) => `role:${role}`);

const skillOf = (spec: ActionSpec, base: string): AgentSkill => {
  const { action, action_version, description, roles, deprecated, sunset_at } = spec;
  const ends = deprecated ? ` It ends on ${sunset_at ?? 'a date to be announced'}.` : '';
  const schema = `${base}${schemaUrl(spec, newestSchema(spec))}`;
  return {
    id: action,
    name: action,
    description: `${description}${ends} Schema of its payload: ${schema}`,
    tags: ['action', `v${action_version}`, ...tagsOf(roles)],
    examples: [JSON.stringify({ action, action_version, payload: {} })],
    inputModes: ['application/json'],
    outputModes: ['application/json'],
    securityRequirements: [],
  };
};
