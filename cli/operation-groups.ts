/**
 * Groups of commands that are derived from operations. The definitions of a group are loaded only
 * when the command line names it, so that other commands start without them.
 */
import type { Command } from 'commander';
import type { Resource } from '../operations/operation.ts';
import { type Finish, withClient, withJson } from './command-parts.ts';

const LOADERS = {
  actors: async () => (await import('../operations/actors.ts')).actors,
  approvals: async () => (await import('../operations/approvals.ts')).approvals,
  audit: async () => (await import('../operations/audit.ts')).audit,
  conversations: async () => (await import('../operations/conversations.ts')).conversations,
  cron: async () => (await import('../operations/schedules.ts')).schedules,
  decisions: async () => (await import('../operations/decisions.ts')).decisions,
  devices: async () => (await import('../operations/devices.ts')).devices,
  dlq: async () => (await import('../operations/dead-letters.ts')).deadLetters,
  effects: async () => (await import('../operations/effects.ts')).effects,
  keys: async () => (await import('../operations/keys.ts')).keys,
  nodes: async () => (await import('../operations/nodes.ts')).nodes,
  runs: async () => (await import('../operations/runs.ts')).runs,
  sessions: async () => (await import('../operations/sessions.ts')).sessions,
  slo: async () => (await import('../operations/slo.ts')).slo,
  subagents: async () => (await import('../operations/subagents.ts')).subagents,
  tasks: async () => (await import('../operations/tasks.ts')).tasks,
  trace: async () => (await import('../operations/traces.ts')).traces,
  usage: async () => (await import('../operations/usage.ts')).usage,
} satisfies Readonly<Record<string, () => Promise<Resource>>>;

/** Groups that are one command. */
const SINGLE: ReadonlySet<keyof typeof LOADERS> = new Set(['audit', 'slo', 'trace', 'usage']);

/** Adds commands of the same group that are more than one operation. */
type AddOthers = (group: Command, finish: Finish) => void;

/**
 * Adds a group, or the one command of that name.
 * @param description what `troupe --help` prints about it
 */
export const operationGroup =
  (args: readonly string[]) =>
  (name: keyof typeof LOADERS, description: string, others?: () => Promise<AddOthers>) =>
  async (program: Command, finish: Finish): Promise<void> => {
    if (!args.includes(name)) {
      const command = program.command(name).description(description);
      // As `--help` prints the command itself.
      if (SINGLE.has(name)) withJson(withClient(command));
      if (name === 'trace') command.argument('<run>');
      return;
    }
    const { addResourceCommands } = await import('./operation-commands.ts');
    const addOthers = await others?.();
    addResourceCommands(program, finish, await LOADERS[name](), { description, addOthers });
  };
