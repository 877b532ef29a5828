/**
 * The section `tools.a2a`: agents outside that agents delegate to by the Agent2Agent protocol (A2A
 * 1.0, or 0.3). The section `a2a` is about the envelopes of troupe itself.
 */
import { Type } from '@sinclair/typebox';
import { oneOf, secret, section } from './fields.ts';

const origins = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^https?://[^\\s/?#@]+$',
      'x-allowed': 'an origin, as `https://agents.example`',
    }),
    { default: [], maxItems: 20, description },
  );

const remoteAgent = section('one agent', {
  url: Type.String({
    pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
    maxLength: 2_000,
    'x-allowed': 'an http:// or https:// URL without login and query',
    description:
      'its base URL, whose card is at `/.well-known/agent-card.json`, or the URL of its card, which ends in `.json`',
  }),
  about: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description:
        'what agents read about it when they choose; `troupe a2a add` writes it from the card. Default: its name only',
    }),
  ),
  bearer: Type.Optional(secret('the token in `Authorization: Bearer`')),
  headers: Type.Record(
    Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,62}$' }),
    secret('a value'),
    {
      default: {},
      additionalProperties: false,
      description: 'other headers of each request, as `X-API-Key`',
    },
  ),
  key: Type.Optional(
    Type.String({
      pattern: '^([A-Za-z0-9_-]{43}|none)$',
      'x-allowed': 'the SHA-256 thumbprint of a key (RFC 7638), or `none`',
      description:
        'the key that must have signed its card, or `none` for any key and for an unsigned card; `troupe a2a add` and `troupe a2a trust` write it. Default: the key of the first signed card that this cell receives',
    }),
  ),
  requireSignature: Type.Boolean({
    default: false,
    description: 'whether a card without a signature is refused, also before a key is known',
  }),
  keyOrigins: origins('other origins that may serve the keys of its card (`jku`)'),
  origins: origins(
    'other origins that its interfaces may have; they receive the token and the headers, too',
  ),
  allowPrivate: Type.Boolean({
    default: false,
    description:
      'whether its hosts may be private or loopback addresses, and may use http:// instead of https://',
  }),
  legacy: Type.Boolean({
    default: false,
    description:
      'whether it may be an agent of version 0.3; signatures of such cards are not verified, so they count as unsigned',
  }),
  deduplicates: Type.Optional(
    Type.Boolean({
      description:
        'whether it does the work of a repeated `messageId` once. Default: what its card declares',
    }),
  ),
  approval: oneOf(['ask', 'always', 'never'], {
    default: 'ask',
    description:
      'whether an operator must approve a message, in sandboxed sessions, too: `ask`: unless a pattern of commands allows it (`a2a_send NAME`); `always`: each one; `never`',
  }),
  timeoutSeconds: Type.Integer({
    minimum: 1,
    // REMOTE_CALL_MS_MAX
    maximum: 43_200,
    default: 600,
    description: 'maximum time for one call, seconds; a call may ask for less',
  }),
});

export const a2aTools = section('the tools a2a_send and a2a_agents', {
  agents: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }), remoteAgent, {
    default: {},
    additionalProperties: false,
    description: 'agents outside that agents may delegate to, by a name of your choice',
  }),
});
