/** The commands that move an installation to another place. */
import type { Command } from 'commander';
import { examples, type Finish, withConfig, withJson, withNats } from '../command-parts.ts';
import type { ExportOptions } from './export.ts';
import type { ImportOptions } from './import.ts';
import type { ImportOpenClawOptions } from './openclaw/import-openclaw.ts';

export function addTransferCommands(program: Command, finish: Finish): void {
  addExport(program, finish);
  addImport(program, finish);
}

const withPassphrase = (what: string) =>
  [
    '--passphrase-file <file>',
    `${what}, with the passphrase in this file; default TROUPE_EXPORT_PASSPHRASE`,
  ] as const;

function addExport(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('export')))
    .argument('<file>', 'the file to write')
    .option('--force', 'replace a file of that name')
    .option(...withPassphrase('also export the keys of the installation, encrypted'))
    .description(
      'write an installation to one file while troupe is stopped, and list what is left out',
    )
    .addHelpText('after', examples('troupe export troupe.export', 'troupe export /mnt/x --force'))
    .action(async (file: string, options: ExportOptions) => {
      finish(await (await import('./export.ts')).exportTo(file, options));
    });
}

function addImport(program: Command, finish: Finish): void {
  const command = withJson(withNats(withConfig(program.command('import'))))
    .argument('<file>', 'a file that troupe export wrote')
    .option('--again', 'delete the data of an interrupted import, and start over')
    .option(...withPassphrase('open the exported keys'))
    .option('--no-keys', 'do not import the exported keys')
    .description('import an exported installation into a cluster that has no cell yet')
    .addHelpText('after', examples('troupe import troupe.export --nats nats://127.0.0.1:4222'))
    .action(async (file: string, options: ImportOptions) => {
      finish(await (await import('./import.ts')).importFrom(file, options));
    });
  addOpenClaw(command, finish);
}

/** Commander parses the shared options for `import`; `optsWithGlobals` returns them. */
function addOpenClaw(parent: Command, finish: Finish): void {
  withJson(withNats(withConfig(parent.command('openclaw'))))
    .argument('[path]', 'its state folder; default: OPENCLAW_STATE_DIR, else ~/.openclaw')
    .option('--dry-run', 'print what would be imported, and write nothing')
    .option('--with-secrets', 'copy secrets into files of the data folder')
    .option('--enable-schedules', 'let the imported jobs fire: OpenClaw is stopped permanently')
    .description('import an installation of OpenClaw; a repeated import writes what is new')
    .addHelpText(
      'after',
      examples('troupe import openclaw --dry-run', 'troupe import openclaw /mnt/old/.openclaw'),
    )
    .action(async (path: string | undefined, _: object, command: Command) => {
      const options = command.optsWithGlobals<ImportOpenClawOptions>();
      const { importOpenClaw } = await import('./openclaw/import-openclaw.ts');
      finish(await importOpenClaw(path, options));
    });
}
