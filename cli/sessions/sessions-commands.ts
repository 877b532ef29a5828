/** The commands that move sessions between installations as files. */
import type { Command } from 'commander';
import { examples, type Finish, withClient, withJson, withTenant } from '../command-parts.ts';
import type { ExportOptions } from './export-sessions.ts';
import type { ImportOptions } from './import-sessions.ts';

export function addSessionTransferCommands(group: Command, finish: Finish): void {
  addExport(group, finish);
  addImport(group, finish);
}

function addExport(group: Command, finish: Finish): void {
  withTenant(withJson(withClient(group.command('export'))))
    .argument('[key...]', 'sessions, by their keys; default: all')
    .option('--out <dir>', 'folder to write', 'sessions')
    .option('--force', 'replace an export in that folder')
    .description('write sessions with their transcripts to files, one JSON object per line')
    .addHelpText(
      'after',
      examples('troupe sessions export', 'troupe sessions export agent:main:main --out backup'),
    )
    .action(async (keys: string[], options: ExportOptions) => {
      finish(await (await import('./export-sessions.ts')).exportSessions(keys, options));
    });
}

function addImport(group: Command, finish: Finish): void {
  withTenant(withJson(withClient(group.command('import'))))
    .argument('<dir>', 'a folder that troupe sessions export wrote')
    .option('--replace', 'delete other sessions that have the same keys')
    .description('create sessions from exported files; existing ones are not changed')
    .addHelpText('after', examples('troupe sessions import backup'))
    .action(async (folder: string, options: ImportOptions) => {
      finish(await (await import('./import-sessions.ts')).importSessions(folder, options));
    });
}
