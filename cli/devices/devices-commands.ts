/** The commands for devices. */
import { type Command, Option } from 'commander';
import { defaultCommand, examples, type Finish, withClient, withJson } from '../command-parts.ts';
import type { DevicesOptions, RoleOptions, RotateOptions } from './devices.ts';

const load = () => import('./devices.ts');

export function addDevicesCommands(program: Command, finish: Finish): void {
  const devices = program
    .command('devices')
    .description('devices: programs with a key that may connect to the gateway');
  const command = (name: string) => withJson(withClient(devices.command(name)));
  withJson(withClient(defaultCommand(devices, 'list')))
    .description('list pairing requests and approved devices')
    .addHelpText('after', examples('troupe devices', 'troupe devices list --json'))
    .action(async (options: DevicesOptions) => finish(await (await load()).list(options)));
  command('approve')
    .argument('<request>', 'id of the pairing request, from the list')
    .description('approve a device with the role and scopes that it requests')
    .addHelpText('after', examples('troupe devices approve 3f0c8a52-1d1e-4d0a-9a53-0f6c1a7b2c11'))
    .action(async (request: string, options: DevicesOptions) =>
      finish(await (await load()).approve(request, options)),
    );
  command('reject')
    .argument('<request>', 'id of the pairing request, from the list')
    .description('reject a device')
    .action(async (request: string, options: DevicesOptions) =>
      finish(await (await load()).reject(request, options)),
    );
  command('remove')
    .argument('<device>', 'its id, at least 6 characters of it, or its name')
    .description('remove a device: its tokens become invalid and its connections are closed')
    .action(async (device: string, options: DevicesOptions) =>
      finish(await (await load()).remove(device, options)),
    );
  command('rename')
    .argument('<device>', 'its id, at least 6 characters of it, or its name')
    .argument('<name>', 'display name, at most 64 characters')
    .description('rename a device')
    .addHelpText('after', examples('troupe devices rename b90aec desk'))
    .action(async (device: string, name: string, options: DevicesOptions) =>
      finish(await (await load()).rename(device, name, options)),
    );
  addTokenCommands(command, finish);
}

function addTokenCommands(command: (name: string) => Command, finish: Finish): void {
  command('rotate')
    .argument('<device>', 'its id, at least 6 characters of it, or its name')
    .addOption(roleOption())
    .option('--scope <scope...>', 'scopes of the new token, at most those of the device')
    .description('issue a new token for a device and show it once; the old one becomes invalid')
    .addHelpText(
      'after',
      examples('troupe devices rotate desk', 'troupe devices rotate desk --scope operator.read'),
    )
    .action(async (device: string, options: RotateOptions) =>
      finish(await (await load()).rotate(device, options)),
    );
  command('revoke')
    .argument('<device>', 'its id, at least 6 characters of it, or its name')
    .addOption(roleOption())
    .description('revoke the token of a device; it needs the secret of the gateway again')
    .action(async (device: string, options: RoleOptions) =>
      finish(await (await load()).revoke(device, options)),
    );
}

const roleOption = () =>
  new Option('--role <role>', 'whose token').choices(['operator', 'node']).default('operator');
