/**
 * docs/openclaw-compatibility.md, made from what is served and from the published protocol, so that
 * it cannot lie: `node tools/run.mjs tools/openclaw-compatibility.ts`. A published method or event
 * that is neither served nor has a reason here makes it fail.
 */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { METHOD_NAMES } from '../channels/gateway/methods/index.ts';
import { GatewayEvents, GatewayMethods } from '../protocols/gateway/index.ts';
import { clientsRun, differences } from './openclaw-clients.ts';
import { parameterSection } from './openclaw-parameters.ts';

/** Why troupe does not serve what begins like this; the first that fits. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /^(plugin|plugins|mcp|nativeHook)\b/,
    'OpenClaw’s plugins run in its own process and are not loaded here',
  ],
  [
    /^openclaw\./,
    'OpenClaw’s own set-up conversation; `troupe config` and config.* take its place',
  ],
  [/^(wizard|onboard)/, 'a set-up dialogue of OpenClaw; troupe starts without one'],
  [/^(talk|tts|voicewake|assistant)\b/, 'no voice'],
  [
    /^(board|portal|ui|controlUi|progressCard|themes|desktop|worker|chat\.toolTitles)\b/,
    'parts of the Control UI that its own server makes',
  ],
  [
    /^(users|session\.|sessions\.(assignOwner|viewers|observer)|mentions)/,
    'no accounts of people: who connects is a token, a device or a proxy’s user',
  ],
  [/^(taskSuggestions|question)\b/, 'agents do not ask by forms; they ask in the conversation'],
  [
    /^(environments|worktrees|projects|fs|terminal|attach|nodes?\.runner|sessions\.(dispatch|reclaim|move|catalog|github|diff|recover)|github)/,
    'no remote work places, checkouts or terminals: an agent has one workspace',
  ],
  [/^(skills)\./, 'skills are folders (docs/skills.md): nothing is bought, installed or proposed'],
  [
    /^(update|gateway\.(restart|suspend)|migrations|secrets|doctor)\b/,
    'the process is started, updated and given secrets by who runs it',
  ],
  [
    /^(sessions\.(compaction|branches|rewind|fork|goal|groups|companion|files|cleanup|pluginPatch|patchMany|storage|title|search)|conversations)/,
    'a session is one line of turns with no branches, groups or goals',
  ],
  [/^(sessions|chat|tasks|agents|agent|artifacts|message|poll|approval)\b/, 'no counterpart'],
  [
    /^(push|web|channels|browser|canvas|users)\b/,
    'no messengers to log in to, and no push service',
  ],
  [
    /^(audit|diagnostics|hooks|memory|migrations)\b/,
    'in troupe by its own commands and HTTP routes (docs/observability.md)',
  ],
  [
    /^(heartbeat|last-heartbeat|set-heartbeats|system-event)/,
    'no heartbeats: what shall happen again is a job (cron.*)',
  ],
  [
    /^(device|node|exec|gateway|cron|config|models|tools|usage|update|status|logs|health|system|presence|plugin|approval|commands)\b/,
    'no counterpart',
  ],
  [/./, ''],
];

type Published = {
  readonly methods: Readonly<Record<string, { readonly scope: string }>>;
};

/** @throws Error for what has neither a place in the table nor a reason */
const reasonOf = (name: string): string => {
  const reason = REASONS.find(([like]) => like.test(name))?.[1] ?? '';
  if (reason === '') throw new Error(`${name} is not served, and no reason says why`);
  return reason;
};

/** The page. `published`: the protocol document of OpenClaw. */
export const compatibilityPage = ({ methods }: Published): string => {
  const served = [...METHOD_NAMES].toSorted();
  const missing = Object.keys(methods)
    .filter((name) => name !== 'connect' && !METHOD_NAMES.includes(name))
    .toSorted();
  const byReason = new Map<string, string[]>();
  for (const name of missing) {
    const list = byReason.get(reasonOf(name)) ?? [];
    byReason.set(reasonOf(name), [...list, name]);
  }
  const scopes: Readonly<Record<string, { readonly scope: string | null }>> = GatewayMethods;
  const row = (name: string) =>
    `| \`${name}\` | ${scopes[name]?.scope ?? 'none'} | ${methods[name] ? 'yes' : 'no'} |`;
  return [
    '# What OpenClaw’s clients find here',
    '',
    'This page is made by `node tools/run.mjs tools/openclaw-compatibility.ts`; a test compares it ' +
      'with what is served. A method that is not served answers `unknown method: NAME` ' +
      '(INVALID_REQUEST), and does not stand in `features.methods`.',
    '',
    clientsRun,
    '',
    differences,
    '',
    parameterSection(),
    '',
    `## Served: ${served.length} methods`,
    '',
    '| method | scope | in the published protocol |',
    '| --- | --- | --- |',
    ...served.map(row),
    '',
    '## Events',
    '',
    `${Object.keys(GatewayEvents)
      .toSorted()
      .map((name) => `\`${name}\``)
      .join(', ')}.`,
    '',
    'Others of the published protocol are of methods that are not served, and are never sent.',
    '',
    `## Not served: ${missing.length} published methods`,
    '',
    '| why | methods |',
    '| --- | --- |',
    ...[...byReason].map(
      ([reason, names]) => `| ${reason} | ${names.map((name) => `\`${name}\``).join(', ')} |`,
    ),
    '',
  ].join('\n');
};

if (process.argv[1]?.includes('openclaw-compatibility')) {
  const here = createRequire(import.meta.url);
  const folder = dirname(here.resolve('@openclaw/gateway-protocol'));
  const published = here(join(folder, '../protocol.schema.json')) as Published;
  writeFileSync('docs/openclaw-compatibility.md', compatibilityPage(published));
}
