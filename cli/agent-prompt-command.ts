/** The commands `troupe agent prompt` and `troupe agent workspace`, below `troupe agent`. */
import { type Command } from 'commander';
import type { AgentPromptOptions } from './agent-prompt.ts';
import type { AgentWorkspaceOptions } from './agent-workspace.ts';
import { examples, type Finish, withTenantOf } from './command-parts.ts';

/** Options that both have are read by the command above; `optsWithGlobals` has them. */
export function addAgentPrompt(agent: Command, finish: Finish): void {
  withTenantOf(agent.command('prompt'))
    .description('print what the agent’s models are told, as the next run would be')
    .option('--explain', 'a table of its sources instead: how much of each, what is missing')
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
  withTenantOf(agent.command('workspace'))
    .description('print the folder of the agent’s files; it is made when there is none')
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
