/**
 * Groups of commands that are derived from operations, and related ones, in the order of `troupe
 * --help`. The definitions of a group are loaded only when the command line names it, so that other
 * commands start without them.
 */
import type { Command } from 'commander';
import type { Resource } from '../operations/operation.ts';
import { addA2aCommands } from './a2a/a2a-commands.ts';
import { addAgentsCommands } from './agents/agents-commands.ts';
import { type Finish, withClient, withJson } from './command-parts.ts';
import { addHooksCommands } from './hooks/hooks-commands.ts';
import { addMcpCommands } from './mcp/mcp-commands.ts';
import { addMemoryCommands } from './memory/memory-commands.ts';
import { addTokenCommand } from './keys/keys-commands.ts';
import { addNodeHost } from './node-host/node-host-commands.ts';

type AddCommands = (parent: Command, finish: Finish) => void;

type OperationGroup = {
  readonly name: string;
  /** what `troupe --help` prints about it */
  readonly about: string;
  load(this: void): Promise<Resource>;
  /** the group is one command, with these arguments */
  readonly single?: { readonly args?: string };
  /** adds commands of the same group that are more than one operation */
  others?(this: void): Promise<AddCommands>;
};

const GROUPS: readonly (OperationGroup | AddCommands)[] = [
  {
    name: 'sessions',
    about: 'conversations with agents: list, show, reset, compact, delete, export, import',
    load: async () => (await import('../operations/sessions.ts')).sessions,
    others: async () =>
      (await import('./sessions/sessions-commands.ts')).addSessionTransferCommands,
  },
  {
    name: 'tasks',
    about: 'background tasks: subagents, scheduled runs, tasks of other agents',
    load: async () => (await import('../operations/tasks.ts')).tasks,
  },
  {
    name: 'runs',
    about: 'runs of agents, over all sessions',
    load: async () => (await import('../operations/runs.ts')).runs,
  },
  {
    name: 'usage',
    about: 'tokens and costs of agents and sessions',
    load: async () => (await import('../operations/usage.ts')).usage,
    single: {},
  },
  {
    name: 'trace',
    about: 'what a run led to: messages, subagents, tools, across sessions and workers',
    load: async () => (await import('../operations/traces.ts')).traces,
    single: { args: '<run>' },
  },
  addAgentsCommands,
  {
    name: 'actors',
    about: 'single actors: their states, what they wait for, and their turns',
    load: async () => (await import('../operations/actors.ts')).actors,
    others: async () => (await import('./actors/actors-commands.ts')).addActorCommands,
  },
  {
    name: 'dlq',
    about: 'dead letters: messages that could not be delivered or processed',
    load: async () => (await import('../operations/dead-letters.ts')).deadLetters,
    others: async () => (await import('./dlq.ts')).addRedriveCommand,
  },
  {
    name: 'approvals',
    about: 'pending approvals',
    load: async () => (await import('../operations/approvals.ts')).approvals,
  },
  {
    name: 'channels',
    about: 'accounts of messengers: Telegram, Slack, Discord, WhatsApp, webhooks',
    load: async () => (await import('../operations/channels.ts')).channels,
    others: async () => (await import('./channels/channels-commands.ts')).addChannelCommands,
  },
  {
    name: 'pairing',
    about: 'senders of messengers who ask to be approved',
    load: async () => (await import('../operations/pairing.ts')).pairing,
  },
  {
    name: 'devices',
    about: 'devices: programs with a key that may connect to the gateway',
    load: async () => (await import('../operations/devices.ts')).devices,
  },
  addNodeHost,
  {
    name: 'nodes',
    about: 'devices that execute commands: machines and browser pages',
    load: async () => (await import('../operations/nodes.ts')).nodes,
  },
  {
    name: 'audit',
    about: 'who did what: connects, approvals, settings, deletions, messages',
    load: async () => (await import('../operations/audit.ts')).audit,
    single: {},
  },
  {
    name: 'erase',
    about: 'remove what is stored of a session, a user or a tenant permanently',
    load: async () => (await import('../operations/erasures.ts')).erasures,
  },
  {
    name: 'hold',
    about: 'legal holds, which keep data from being erased',
    load: async () => (await import('../operations/legal-holds.ts')).legalHolds,
  },
  {
    name: 'retention',
    about: 'how long data is kept by tenant and kind, and what sweeps remove',
    load: async () => (await import('../operations/retention.ts')).retention,
  },
  {
    name: 'effects',
    about: 'effects with an unknown outcome, for an operator to decide',
    load: async () => (await import('../operations/effects.ts')).effects,
  },
  {
    name: 'cron',
    about: 'messages that agents receive at later times',
    load: async () => (await import('../operations/schedules.ts')).schedules,
  },
  {
    name: 'conversations',
    about: 'messages between agents, with their answers and replies',
    load: async () => (await import('../operations/conversations.ts')).conversations,
  },
  {
    name: 'calls',
    about: 'what agents called on MCP servers and A2A agents',
    load: async () => (await import('../operations/calls.ts')).calls,
  },
  {
    name: 'subagents',
    about: 'agents that work for other agents',
    load: async () => (await import('../operations/subagents.ts')).subagents,
  },
  {
    name: 'decisions',
    about: 'tasks with an unknown outcome, or whose compensation failed',
    load: async () => (await import('../operations/decisions.ts')).decisions,
  },
  {
    name: 'keys',
    about: 'keys with which external programs sign their envelopes (A2A-External)',
    load: async () => (await import('../operations/keys.ts')).keys,
    others: async () => (await import('./keys/keys-commands.ts')).addNewKeyCommands,
  },
  addTokenCommand,
  addHooksCommands,
  addMemoryCommands,
  addMcpCommands,
  addA2aCommands,
  {
    name: 'plugins',
    about: 'code of others that adds tools, hooks, models and channels, in processes of its own',
    load: async () => (await import('../operations/plugins.ts')).plugins,
    others: async () => (await import('./plugins/plugins-commands.ts')).addPluginCommands,
  },
  {
    name: 'slo',
    about: 'whether the cell meets its service level objectives',
    load: async () => (await import('../operations/slo.ts')).slo,
    single: {},
  },
];

/** Names of the groups whose definitions are loaded only when the command line has them. */
export const operationGroupNames: readonly string[] = GROUPS.flatMap((group) =>
  typeof group === 'function' ? [] : [group.name],
).concat('cluster');

/** Adds all groups. @param args the command line */
export const addOperationGroups =
  (args: readonly string[]) =>
  async (program: Command, finish: Finish): Promise<void> => {
    for (const group of GROUPS) {
      if (typeof group === 'function') group(program, finish);
      else if (args.includes(group.name)) await addGroup(program, finish, group);
      else addName(program, group);
    }
  };

async function addGroup(
  program: Command,
  finish: Finish,
  { about, load, others }: OperationGroup,
): Promise<void> {
  const { addResourceCommands } = await import('./operation-commands.ts');
  const addOthers = await others?.();
  addResourceCommands(program, finish, await load(), { description: about, addOthers });
}

/** For `troupe --help`, which prints options and arguments of a single command. */
function addName(program: Command, { name, about, single }: OperationGroup): void {
  const command = program.command(name).description(about);
  if (!single) return;
  withJson(withClient(command));
  if (single.args) command.arguments(single.args);
}
