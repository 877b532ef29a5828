/**
 * What a person sees of a text in each messenger, in the form of the plain text: links with their
 * targets, quotes with `>` before each line. Slack and Discord are read by parsers of others; HTML
 * strictly, as Telegram reads it; WhatsApp by its published rules.
 */
import { parse as parseDiscord } from 'discord-markdown-parser';
import { type Node, NodeType, parse as parseSlack } from 'slack-message-parser';
import type { Dialect } from '../../../../channels/messengers/text/dialects.ts';

/** Without the characters that keep markers from formatting, which are invisible. */
export const seen = (text: string): string =>
  text
    .replaceAll(/[\u200a\u00ad]/g, '')
    .replaceAll('\u2035', '`')
    .replaceAll('\t', '    ')
    .replaceAll(/[ \t]+$/gm, '')
    .trim();

const quoted = (text: string): string => text.replaceAll(/^/gm, '> ');
const linked = (label: string, href: string): string =>
  label === href.replace(/^(?:mailto:|http:\/\/(?=www\.))/i, '') ? label : `${label} (${href})`;

// ---- Telegram

const HTML =
  /<(\/?)(b|i|s|code|pre|a|blockquote)((?: \w+="[^"<>]*")?)>|&(amp|lt|gt|quot);|[^<>&]/gsy;
const CHARACTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };
const unescaped = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot);/g, (_, name: string) => CHARACTERS[name]!);

/** @throws for anything that Telegram refuses */
export function readTelegram(html: string): string {
  const open: { tag: string; attribute: string; text: string }[] = [];
  const top = { tag: '', attribute: '', text: '' };
  let at = 0;
  for (const [all, slash, tag, attribute = '', character] of html.matchAll(HTML)) {
    at += all.length;
    const inside = open.at(-1) ?? top;
    if (tag === undefined) inside.text += character === undefined ? all : CHARACTERS[character]!;
    else if (slash === '') open.push({ tag, attribute, text: '' });
    else {
      if (inside.tag !== tag) throw new Error(`</${tag}> closes <${inside.tag}>: ${html}`);
      open.pop();
      (open.at(-1) ?? top).text += closed(
        inside,
        open.map((one) => one.tag),
      );
    }
  }
  if (at < html.length || open.length > 0) throw new Error(`not valid at ${at}: ${html}`);
  return top.text;
}

function closed(
  { tag, attribute, text }: { tag: string; attribute: string; text: string },
  around: readonly string[],
): string {
  if (tag === 'blockquote') {
    if (around.length > 0) throw new Error('a quote is nested');
    return quoted(text);
  }
  if (around.includes('pre') && tag !== 'code') throw new Error(`<${tag}> in code`);
  if (around.includes('code')) throw new Error(`<${tag}> in code`);
  return tag === 'a' ? linked(text, unescaped(/ href="(.*)"$/.exec(attribute)![1]!)) : text;
}

// ---- Slack

export function readSlack(mrkdwn: string): string {
  return slackText(parseSlack(mrkdwn));
}

function slackText(node: Node): string {
  switch (node.type) {
    case NodeType.Text:
      return unescaped(node.text);
    case NodeType.Code:
      return unescaped(node.text);
    case NodeType.PreText:
      return unescaped(node.text).replaceAll(/^\n|\n$/g, '');
    case NodeType.URL: {
      const url = unescaped(node.url).replaceAll('%7C', '|');
      const label = seen(node.label?.map(slackText).join('') ?? url);
      return label === url ? url : linked(label, url);
    }
    case NodeType.Quote:
      return `>${node.children.map(slackText).join('').replaceAll('\n', '\n>')}${node.source.endsWith('\n') ? '\n' : ''}`;
    case NodeType.Bold:
    case NodeType.Italic:
    case NodeType.Strike:
    case NodeType.Root:
      return node.children.map(slackText).join('');
    case NodeType.Emoji:
      return unescaped(node.source);
    default:
      throw new Error(`the text of a model became ${JSON.stringify(node)}`);
  }
}

// ---- Discord

type DiscordNode = {
  type: string;
  name?: string;
  content?: string | DiscordNode[];
  target?: string;
};

export function readDiscord(markdown: string): string {
  const isCode = (at: number) => at % 2 === 1;
  const parts = markdown.split(/(^```[\s\S]*?\n```$)/gm);
  return parts
    .map((part, at) => (isCode(at) ? part : part.replaceAll(/^#{1,3} /gm, '')))
    .map(
      (part, at) =>
        discordText(parseDiscord(part, 'extended') as DiscordNode[]) || (isCode(at) ? '' : part),
    )
    .join('');
}

const discordText = (nodes: readonly DiscordNode[]): string => nodes.map(discordNode).join('');

function discordNode({ type, name, content, target }: DiscordNode): string {
  const text = typeof content === 'string' ? content : discordText(content ?? []);
  switch (type) {
    case 'twemoji':
      return name!;
    case 'everyone':
    case 'here':
      return `@${type}`;
    case 'br':
    case 'newline':
      return '\n';
    case 'blockQuote':
      return `${quoted(text.replace(/\n$/, ''))}\n`;
    case 'link':
      return linked(text, decodeURI(target!));
    case 'text':
    case 'em':
    case 'strong':
    case 'strikethrough':
    case 'inlineCode':
    case 'codeBlock':
    case 'url':
    case 'autolink':
      return text;
    default:
      throw new Error(`the text of a model became ${type}: ${text}`);
  }
}

// ---- WhatsApp

const SAVED = /```([\s\S]*?)```|`([^`\n]+)`|https?:\/\/[^\s<>"]+/g;

export function readWhatsapp(text: string): string {
  const saved: string[] = [];
  const save = (all: string, block?: string, code?: string) =>
    `\u{f0000}${saved.push(block ?? code ?? all) - 1}\u{f0001}`;
  let rest = text.replaceAll(SAVED, save);
  for (const marker of ['\\*', '_', '~']) {
    const formatted = new RegExp(
      `(?<![\\p{L}\\p{N}])${marker}(?=\\S)([^\\n]*?\\S)${marker}(?![\\p{L}\\p{N}])`,
      'gu',
    );
    rest = rest.replaceAll(formatted, '$1');
  }
  return rest.replaceAll(/\u{f0000}(\d+)\u{f0001}/gu, (_, at: string) => saved[Number(at)]!);
}

export const READERS: Readonly<Record<Dialect, (text: string) => string>> = {
  'telegram-html': readTelegram,
  'slack-mrkdwn': readSlack,
  discord: readDiscord,
  whatsapp: readWhatsapp,
  plain: (text) => text,
};
