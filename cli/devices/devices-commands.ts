/** The commands for devices. */
import { type Command, Option } from 'commander';
import { defaultCommand, examples, type Finish, withClient, withJson } from '../command-parts.ts';
import type { DevicesOptions, RoleOptions, RotateOptions } from './devices.ts';

const load = () => import('./devices.ts');

export function addDevicesCommands(program: Command, finish: Finish): void {
  const devices = program
    .command('devices')
    .description('programs with a key that may connect to the gateway');
  const command = (name: string) => withJson(withClient(devices.command(name)));
  withJson(withClient(defaultCommand(devices, 'list')))
    .description('list who asks to be let in, and who is')
    .addHelpText('after', examples('troupe devices', 'troupe devices list --json'))
    .action(async (options: DevicesOptions) => finish(await (await load()).list(options)));
  command('approve')
    .argument('<request>', 'the request, as the list shows it')
    .description('let a device in with the role and the scopes that it asks for')
    .addHelpText('after', examples('troupe devices approve 3f0c8a52-1d1e-4d0a-9a53-0f6c1a7b2c11'))
    .action(async (request: string, options: DevicesOptions) =>
      finish(await (await load()).approve(request, options)),
    );
  command('reject')
    .argument('<request>', 'the request, as the list shows it')
    .description('do not let a device in')
    .action(async (request: string, options: DevicesOptions) =>
      finish(await (await load()).reject(request, options)),
    );
  command('remove')
    .argument('<device>', 'its id, the first 6 characters of it or more, or its name')
    .description('forget a device: its tokens are worth nothing and its connections end')
    .action(async (device: string, options: DevicesOptions) =>
      finish(await (await load()).remove(device, options)),
    );
  command('rename')
    .argument('<device>', 'its id, the first 6 characters of it or more, or its name')
    .argument('<name>', 'display name, at most 64 characters')
    .description('give a device a name')
    .addHelpText('after', examples('troupe devices rename b90aec desk'))
    .action(async (device: string, name: string, options: DevicesOptions) =>
      finish(await (await load()).rename(device, name, options)),
    );
  addTokenCommands(command, finish);
}

function addTokenCommands(command: (name: string) => Command, finish: Finish): void {
  command('rotate')
    .argument('<device>', 'its id, the first 6 characters of it or more, or its name')
    .addOption(roleOption())
    .option('--scope <scope...>', 'what the new token may do, less than the device')
    .description('make a new token for a device and show it once; the old one ends')
    .addHelpText(
      'after',
      examples('troupe devices rotate desk', 'troupe devices rotate desk --scope operator.read'),
    )
    .action(async (device: string, options: RotateOptions) =>
      finish(await (await load()).rotate(device, options)),
    );
  command('revoke')
    .argument('<device>', 'its id, the first 6 characters of it or more, or its name')
    .addOption(roleOption())
    .description('end the token of a device; it needs the secret of the gateway again')
    .action(async (device: string, options: RoleOptions) =>
      finish(await (await load()).revoke(device, options)),
    );
}

const roleOption = () =>
  new Option('--role <role>', 'whose token').choices(['operator', 'node']).default('operator');
