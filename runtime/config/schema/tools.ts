/**
 * The parts `tools`, `hooks` and `skills` of the configuration: what agents can do, and what an
 * installation adds.
 */
import { Type } from '@sinclair/typebox';
import { applied, oneOf, requestUrl, secret, section } from './fields.ts';
import { a2aTools } from './remote-agents.ts';
import { execPolicyDefaults } from './runs.ts';
import { agentToAgentAccess } from './talk.ts';

const toolNames = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [] });

const exec = section('commands', {
  boundary: oneOf(['auto', 'bubblewrap', 'docker'], {
    default: 'auto',
    description:
      'the isolation of sandboxed commands; `auto`: bubblewrap where it works, else Docker. Without ' +
      'either they are refused, never run on the host',
  }),
  image: Type.String({
    minLength: 1,
    default: 'debian:12-slim',
    description: 'container image of sandboxed commands, with Docker',
  }),
  network: Type.Boolean({
    default: false,
    description: 'whether sandboxed commands reach the network',
  }),
  timeoutSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 120,
    description: 'maximum duration of a command if the call sets none, seconds',
  }),
  memoryMb: Type.Integer({
    minimum: 16,
    maximum: 1_048_576,
    default: 1_024,
    description: 'memory of a sandboxed command and its child processes, MiB',
  }),
  ...execPolicyDefaults,
});

const web = section('the web', {
  search: section('the tool web_search', {
    provider: Type.Optional(
      oneOf(['brave', 'searxng', 'tavily'], {
        description: 'the search service. Default: agents have no search tool',
      }),
    ),
    apiKey: Type.Optional(secret('key of the provider; searxng needs none')),
    baseUrl: Type.Optional(
      requestUrl('URL of the provider; required for searxng, the others have their own'),
    ),
  }),
  allowPrivate: Type.Array(Type.String({ minLength: 1, pattern: '^\\S+$' }), {
    default: [],
    description:
      'hosts that web_fetch and browser may open despite a private address: names or IP addresses',
  }),
  maxBytes: Type.Integer({
    minimum: 1_024,
    maximum: 104_857_600,
    default: 5_242_880,
    description: 'largest page that web_fetch reads, bytes',
  }),
});

const browser = section('the tool browser', {
  executable: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'the Chromium to start. Default: the one that is found',
    }),
  ),
  headless: Type.Boolean({ default: true, description: 'without a window' }),
  evaluate: Type.Boolean({
    default: false,
    description: 'whether agents may run scripts of their own in a page',
  }),
});

export const toolsSection = section('tools of all agents', {
  allow: applied('agents', toolNames('tools and `group:` names that may be called; empty: all')),
  deny: applied(
    'agents',
    toolNames('tools and groups that must not be called; overrides every `allow`'),
  ),
  exec,
  web,
  browser,
  a2a: a2aTools,
  agentToAgent: applied('process', agentToAgentAccess),
});

export const hooksSection = section('code of the installation that looks at runs', {
  folder: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'folder with its files. Default: `hooks` in the data folder',
    }),
  ),
  disabled: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'names of hooks that are not loaded',
  }),
  required: Type.Boolean({
    default: false,
    description: 'whether a hook that cannot be loaded stops the start; else it is reported',
  }),
});

export const skillsSection = section('what agents can read up on', {
  folder: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'folders with a SKILL.md, for all agents. Default: `skills` in the data folder',
    }),
  ),
  env: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), secret('its value'), {
    default: {},
    additionalProperties: false,
    description: 'values of environment variables that skills may ask for, by name',
  }),
});
