/** The commands `troupe agent prompt` and `troupe agent workspace`, below `troupe agent`. */
import { type Command } from 'commander';
import type { AgentPromptOptions } from './agent-prompt.ts';
import type { AgentWorkspaceOptions } from './agent-workspace.ts';
import { examples, type Finish, withConfig, withJson, withTenantOf } from '../command-parts.ts';

/**
 * Declared here for the help. Commander parses them for `agent`; `optsWithGlobals` returns them.
 */
const withAgent = (command: Command): Command =>
  withTenantOf(withJson(withConfig(command))).option(
    '--agent <id>',
    'agent; default: the default agent',
  );

export function addAgentPrompt(agent: Command, finish: Finish): void {
  withAgent(agent.command('prompt'))
    .description('print the prompt that the next run would send to the agent’s model')
    .option('--session <key>', 'session; default: the main session')
    .option('--explain', 'print a table of its sources instead: their sizes, and which are missing')
    .addHelpText(
      'after',
      examples(
        'troupe agent prompt',
        'troupe agent prompt --explain',
        'troupe agent prompt --agent main --session work --json',
      ),
    )
    .action(async (_: object, command: Command) => {
      const options = command.optsWithGlobals<AgentPromptOptions>();
      finish(await (await import('./agent-prompt.ts')).agentPrompt(options));
    });
}

export function addAgentWorkspace(agent: Command, finish: Finish): void {
  withAgent(agent.command('workspace'))
    .description('print the folder of the agent’s files, and create it if it does not exist')
    .addHelpText(
      'after',
      examples(
        'cd "$(troupe agent workspace)"',
        `echo 'Answer in verse.' > "$(troupe agent workspace --agent main)/AGENTS.md"`,
      ),
    )
    .action(async (_: object, command: Command) => {
      const options = command.optsWithGlobals<AgentWorkspaceOptions>();
      finish(await (await import('./agent-workspace.ts')).agentWorkspace(options));
    });
}
