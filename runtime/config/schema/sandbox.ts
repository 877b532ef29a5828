/** The configuration of sandboxes: for all agents, for one agent, and for subagents. */
import { Type } from '@sinclair/typebox';
import { applied, oneOf, section } from './fields.ts';

const modes = ['none', 'non-main', 'always'] as const;
const accesses = ['ro', 'rw', 'none'] as const;
const accessText = 'what sandboxed tools may do in the workspace: read, read and write, nothing';

const toolList = (description: string, standard: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [...standard] });
const toolNames = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description });

export const sandboxDefaults = section('sandbox of every agent that does not say otherwise', {
  mode: oneOf(modes, {
    description:
      'which sessions run their tools in a sandbox: none, all but the main one, or every one',
    default: 'non-main',
  }),
  workspaceAccess: oneOf(accesses, { description: accessText, default: 'rw' }),
  allowlist: toolList('tools and `group:` names that a sandboxed session may call', [
    'bash',
    'process',
    'read',
    'write',
    'edit',
  ]),
  denylist: toolList('tools and groups that it must not call; overrides the allowlist', [
    'browser',
    'canvas',
    'nodes',
    'cron',
  ]),
  sessionToolsVisibility: applied(
    'process',
    oneOf(['spawned', 'all'], {
      description:
        'which sessions a sandboxed session may find, read and write to: itself and those that it started, or those that its agent may',
      default: 'spawned',
    }),
  ),
});

/** Keys of a sandbox without defaults: what is left out comes from `otherwise`. */
const overrides = (otherwise: string) => ({
  mode: Type.Optional(oneOf(modes, { description: `as in ${otherwise}` })),
  workspaceAccess: Type.Optional(oneOf(accesses, { description: `as in ${otherwise}` })),
  allowlist: Type.Optional(toolNames(`instead of the allowlist of ${otherwise}`)),
  denylist: Type.Optional(toolNames(`instead of the denylist of ${otherwise}`)),
});

export const sandboxOverride = Type.Object(overrides('the defaults'), {
  description: 'what differs from `agents.defaults.sandbox`',
  additionalProperties: false,
});

const tokensText = 'input and output tokens of one subagent, from its task to its end';
const timeoutText = 'maximum duration of one subagent from start to end, milliseconds';
/** A grant of less is refused as none (protocols/subagent.ts, GRANT_TOKENS_MIN). */
const TOKENS = { minimum: 1_000 } as const;
const TIMEOUT = { minimum: 1_000, maximum: 172_800_000 } as const;

export const spawnSandbox = section('its sandbox, and how much one of them may use', {
  mode: oneOf(modes, { description: 'as in `agents.defaults.sandbox`', default: 'always' }),
  workspaceAccess: oneOf(accesses, { description: accessText, default: 'ro' }),
  allowlist: toolList('tools that it may call', ['read', 'web_search']),
  denylist: toolList('tools that it must not call; overrides the allowlist', [
    'bash',
    'write',
    'canvas',
    'sessions_spawn',
  ]),
  maxTokens: Type.Integer({ ...TOKENS, default: 50_000, description: tokensText }),
  timeout: Type.Integer({ ...TIMEOUT, default: 300_000, description: timeoutText }),
});

export const spawnSandboxOverride = Type.Object(
  {
    ...overrides('`agents.spawnDefaults.sandbox`'),
    maxTokens: Type.Optional(Type.Integer({ ...TOKENS, description: tokensText })),
    timeout: Type.Optional(Type.Integer({ ...TIMEOUT, description: timeoutText })),
  },
  {
    description: 'its sandbox when it is started by another, key by key',
    additionalProperties: false,
  },
);
