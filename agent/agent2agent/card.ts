/**
 * Agent cards (A2A 1.0): what a remote agent says about itself. Everything in a card is foreign: it
 * is limited in size, and cleaned before a model or a terminal shows it.
 */
import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { TroupeError } from '../../protocols/errors.ts';
import { isTooDeep } from '../../protocols/json-depth.ts';
import { plainName } from '../../protocols/plain-text.ts';

export const CARD_BYTES_MAX = 256 * 1024;
const CARD_DEPTH_MAX = 32;
const SKILLS_SHOWN_MAX = 20;
const NAME_CHARACTERS_MAX = 80;
const TEXT_CHARACTERS_MAX = 300;
/** The length of `tools.a2a.agents.*.about`. */
const ABOUT_CHARACTERS_MAX = 2_000;

const BINDINGS = ['JSONRPC', 'HTTP+JSON'];
/** Of Major.Minor; the client speaks 1.0, and minor versions are compatible. */
const VERSION = /^1(\.\d+)*$/;
const LEGACY_VERSION = /^0\.3(\.\d+)*$/;

/** Where the card of an agent is: the URL itself when it is one of a card. */
export function cardUrlOf(url: string): URL {
  const { pathname } = new URL(url);
  if (pathname.endsWith('.json')) return new URL(url);
  return new URL('.well-known/agent-card.json', `${url.replace(/\/*$/, '')}/`);
}

/**
 * @param isLegacy whether the card may be one of A2A 0.3; it then has no signatures, because their
 *   canonical form is another
 * @throws TroupeError INVALID_ARGUMENT for a text that is not the card of an A2A agent
 */
export async function parseCard(text: string, name: string, isLegacy = false): Promise<AgentCard> {
  const document = isTooDeep(text, CARD_DEPTH_MAX) ? undefined : jsonOf(text);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw invalid(name, 'is not a JSON object');
  let card: AgentCard;
  try {
    card = await cardIn(document, isLegacy);
  } catch (cause) {
    throw invalid(name, `cannot be read: ${plainName((cause as Error).message, 200)}`);
  }
  if (card.name === '') throw invalid(name, 'has no name');
  if (card.supportedInterfaces.length === 0)
    throw invalid(
      name,
      'has no supportedInterfaces: it is not one of A2A 1.0. Set legacy for an agent of 0.3 (troupe a2a add --legacy)',
    );
  return card;
}

/** @throws an error of the SDK */
async function cardIn(document: object, isLegacy: boolean): Promise<AgentCard> {
  if (isLegacy) {
    const sdk = await import('@a2a-js/sdk/compat/v0_3/client');
    if (sdk.isLegacyAgentCard(document))
      return { ...sdk.parseLegacyAgentCard(document), signatures: [] };
  }
  const { AgentCard: codec } = await import('@a2a-js/sdk');
  return codec.fromJSON(document);
}

type InterfaceOptions = {
  readonly name: string;
  readonly allows: (url: string) => boolean;
  readonly isLegacy?: boolean;
};

/**
 * The first interface that this client speaks and that is at an allowed origin.
 * @throws TroupeError FORBIDDEN when only the origins do not fit; INVALID_ARGUMENT
 */
export function interfaceOf(
  { supportedInterfaces }: AgentCard,
  { name, allows, isLegacy = false }: InterfaceOptions,
): AgentInterface {
  const spoken = supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      BINDINGS.includes(protocolBinding.toUpperCase()) &&
      (VERSION.test(protocolVersion) || (isLegacy && LEGACY_VERSION.test(protocolVersion))),
  );
  const found = spoken.find(({ url }) => allows(url));
  if (found) return found;
  if (spoken.length === 0)
    throw invalid(name, `offers no interface of ${BINDINGS.join(' or ')} in version 1.0`);
  const where = [...new Set(spoken.map(({ url }) => originOf(url)))].slice(0, 5).join(', ');
  throw new TroupeError(
    'FORBIDDEN',
    `the interfaces of ${name} are at ${where}, and its card is not: add the origin to tools.a2a.agents.${name}.origins if you trust it`,
  );
}

const originOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).origin : JSON.stringify(plainName(url, NAME_CHARACTERS_MAX));

/** A card in words, cleaned: its name, description and skills; at most 2,000 characters. */
export function aboutCard({ name, description, skills }: AgentCard): string {
  const head = [plainName(name, NAME_CHARACTERS_MAX), plainName(description, TEXT_CHARACTERS_MAX)];
  const lines = skills
    .slice(0, SKILLS_SHOWN_MAX)
    .map(
      (skill) => `- ${plainName(skill.name || skill.id, NAME_CHARACTERS_MAX)}: ${described(skill)}`,
    );
  const more = skills.length - lines.length;
  if (more > 0) lines.push(`- and ${more} more skills`);
  const text = [head.filter((part) => part !== '').join(': '), ...lines].join('\n');
  return text.length <= ABOUT_CHARACTERS_MAX
    ? text
    : `${text.slice(0, ABOUT_CHARACTERS_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const described = ({ description, tags }: AgentCard['skills'][number]): string => {
  const text = plainName(description, TEXT_CHARACTERS_MAX);
  const words = tags.slice(0, 8).map((tag) => plainName(tag, 40));
  return words.length > 0 ? `${text} [${words.join(', ')}]` : text;
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const invalid = (name: string, why: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `the card of ${name} ${why}`);
