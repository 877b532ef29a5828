/** The commands for the notes of agents. */
import { type Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withConfig,
  withJson,
  withTenantOf,
} from '../command-parts.ts';
import type { MemoryOptions, MemorySearchOptions } from './memory.ts';

export function addMemoryCommands(program: Command, finish: Finish): void {
  const memory = program
    .command('memory')
    .description('notes of an agent: MEMORY.md and memory/*.md in its workspace');
  const load = () => import('./memory.ts');
  const loadBatch = () => import('./batch.ts');
  const withAgent = (command: Command) =>
    withTenantOf(withJson(withConfig(command))).option(
      '--agent <id>',
      'agent; default: the default agent',
    );
  withAgent(memory.command('search'))
    .argument('<query>', 'words of the note, also with typing errors or without tone marks')
    .option('--max-results <n>', 'default: memory.search.maxResults', wholeNumber)
    .option('--min-score <0..1>', 'default: memory.search.minScore', Number)
    .description('find notes as the tool memory_search does in the main session')
    .addHelpText(
      'after',
      examples(
        'troupe memory search "who repairs the espresso machine"',
        'troupe memory search cat --json',
      ),
    )
    .action(async (query: string, options: MemorySearchOptions) => {
      finish(await (await load()).memorySearch(query, options));
    });
  withAgent(defaultCommand(memory, 'status'))
    .description('print how many notes there are, which cannot be searched, and the latest batch')
    .addHelpText(
      'after',
      examples('troupe memory status', 'troupe memory status --agent main --json'),
    )
    .action(async (options: MemoryOptions) => finish(await (await load()).memoryStatus(options)));
  withAgent(memory.command('index'))
    .description('make the vectors that notes lack, with the model of memory.search.model')
    .option('--batch', 'by a batch of the provider, within a day; a running gateway carries it out')
    .addHelpText('after', examples('troupe memory index', 'troupe memory index --batch'))
    .action(async ({ batch, ...options }: MemoryOptions & { readonly batch?: boolean }) => {
      const made = batch ? (await loadBatch()).memoryBatch : (await load()).memoryIndex;
      finish(await made(options));
    });
  withAgent(memory.command('cancel'))
    .description('cancel the batch of an agent; vectors that the provider has made are stored')
    .addHelpText('after', examples('troupe memory cancel', 'troupe memory cancel --agent main'))
    .action(async (options: MemoryOptions) =>
      finish(await (await loadBatch()).memoryCancel(options)),
    );
  withAgent(memory.command('reset'))
    .description('remove the stored vectors of an agent; its notes are unchanged')
    .addHelpText('after', examples('troupe memory reset', 'troupe memory reset --agent main'))
    .action(async (options: MemoryOptions) => finish(await (await load()).memoryReset(options)));
}
