/** The command for authors of client programs. */
import { Argument, type Command } from 'commander';
import { examples, type Finish, withJson } from './command-parts.ts';
import type { SDK_LANGUAGES, SdkOptions } from './sdk.ts';

const languages: typeof SDK_LANGUAGES = ['typescript', 'python'];

export function addSdkCommand(program: Command, finish: Finish): void {
  withJson(program.command('sdk'))
    .description('write the TypeScript or Python client into a folder')
    .addArgument(new Argument('<language>', 'which one').choices(languages))
    .requiredOption('--out <dir>', 'output folder, new or empty')
    .addHelpText(
      'after',
      examples(
        'troupe sdk typescript --out node_modules/troupe-sdk',
        'troupe sdk python --out troupe-sdk && pip install ./troupe-sdk',
      ),
    )
    .action(async (language: (typeof languages)[number], options: SdkOptions) => {
      finish((await import('./sdk.ts')).writeSdk(language, options));
    });
}
