/** The commands that run troupe as a service of the operating system. */
import { type Command, Option } from 'commander';
import { examples, type Finish, withConfig, withJson, withNats } from '../command-parts.ts';
import { serviceProcesses } from './description.ts';
import type { InstallOptions, ServiceOptions } from './service.ts';

export function addServiceCommands(program: Command, finish: Finish): void {
  const group = program
    .command('service')
    .description('run troupe as a service: systemd on Linux, launchd on macOS');
  addInstall(group, finish);
  addStatus(group, finish);
  addUninstall(group, finish);
}

const withService = (command: Command): Command =>
  withNats(withJson(withConfig(command)))
    .option('--system', 'a service of the machine instead of this user’s; needs root')
    .addOption(
      new Option('--process <name>', 'what runs: start, or a gateway or worker of a cluster')
        .choices([...serviceProcesses])
        .default('start'),
    );

function addInstall(group: Command, finish: Finish): void {
  withService(group.command('install'))
    .option('--print', 'print the file of the service, and change nothing')
    .option('--no-start', 'write the file, and start nothing')
    .option('--run-as <user>', 'user of a service of the machine; default: who called sudo')
    .option('--force', 'replace a file that this command did not write')
    .description('write the file of the service, and start it now and at each boot')
    .addHelpText(
      'after',
      examples(
        'troupe service install',
        'troupe service install --print',
        'sudo troupe service install --system --run-as troupe --data /var/lib/troupe',
      ),
    )
    .action(async (options: InstallOptions) => {
      finish(await (await import('./service.ts')).install(options));
    });
}

function addStatus(group: Command, finish: Finish): void {
  withService(group.command('status'))
    .description('whether the service is installed, is current, runs and serves')
    .action(async (options: ServiceOptions) => {
      finish(await (await import('./service.ts')).status(options));
    });
}

function addUninstall(group: Command, finish: Finish): void {
  withService(group.command('uninstall'))
    .description('stop the service and remove its file; the data folder stays')
    .action(async (options: ServiceOptions) => {
      finish(await (await import('./service.ts')).uninstall(options));
    });
}
