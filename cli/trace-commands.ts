/** The command for run traces. */
import type { Command } from 'commander';
import {
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { TraceOptions } from './trace.ts';

export function addTraceCommand(program: Command, finish: Finish): void {
  withTenant(withJson(withClient(program.command('trace'))))
    .description('show what a run caused: messages, subagents, tools, across sessions and workers')
    .argument('<run>', 'id of the run, from `troupe agent --json` or `troupe sessions --json`')
    .option('--mermaid', 'print a sequence diagram for Markdown')
    .option(
      '--depth <n>',
      'maximum distance of followed messages and spawns, 1 to 8; default 8',
      wholeNumber,
    )
    .addHelpText('after', examples('troupe trace review-42', 'troupe trace review-42 --mermaid'))
    .action(async (run: string, options: TraceOptions) => {
      finish(await (await import('./trace.ts')).trace(run, options));
    });
}
