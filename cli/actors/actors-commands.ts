/** Commands about actors that are not operations. */
import type { Command } from 'commander';
import {
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withConfig,
  withJson,
  withNats,
  withTenant,
} from '../command-parts.ts';
import type { InspectOptions } from './inspect.ts';
import type { ReplayOptions } from './replay.ts';
import type { StoredOptions } from './stored.ts';
import type { WatchOptions } from './watch.ts';

export function addActorCommands(actors: Command, finish: Finish): void {
  withTenant(withJson(withClient(actors.command('watch'))))
    .argument('<address>', 'tenant/type/key')
    .option('--turns <n>', 'end after this number of turns', wholeNumber)
    .description('print each message that an actor processes, and its next state, as it happens')
    .addHelpText('after', examples('troupe actors watch default/session/agent:main:main'))
    .action(async (address: string, options: WatchOptions) => {
      finish(await (await import('./watch.ts')).watch(address, options));
    });
  withJson(withNats(withConfig(actors.command('stored'))))
    .argument('[address]', 'tenant/type/key')
    .option('--type <type>', 'only actors of this type')
    .option('--limit <n>', 'maximum number; default 1000', wholeNumber)
    .description(
      'list actors, or show one, without a gateway: of a stopped process, or of a cluster',
    )
    .addHelpText(
      'after',
      examples(
        'troupe actors stored --type session',
        'troupe actors stored default/root/cluster --nats nats://127.0.0.1:4222',
      ),
    )
    .action(async (address: string | undefined, options: StoredOptions) => {
      finish(await (await import('./stored.ts')).stored(address, options));
    });
}

export function addReplay(program: Command, finish: Finish): void {
  withTenant(withJson(withClient(program.command('replay'))))
    .argument('<address>', 'tenant/type/key')
    .option(
      '--against <file>',
      'a module that exports actor definitions, in place of those of troupe',
    )
    .option('--file <file>', 'a replay file of a simulation, in place of the history of a gateway')
    .description('take the recorded turns of an actor again; exit code 1 at the first difference')
    .addHelpText(
      'after',
      examples(
        'troupe replay default/session/agent:main:main',
        'troupe replay default/order/17 --against order.ts --json',
        'troupe replay default/order/17 --file simulation-7.json --against order.ts',
      ),
    )
    .action(async (address: string, options: ReplayOptions) => {
      finish(await (await import('./replay.ts')).replayActor(address, options));
    });
}

export function addInspect(program: Command, finish: Finish): void {
  withTenant(withJson(withClient(program.command('inspect'))))
    .argument('<address...>', 'tenant/type/key; parents before their children')
    .option('--context', 'with the contexts of their machines; known secrets are masked')
    .option('--children', 'also actors that these create from now on, at most 20 in total')
    .option('--to <url>', 'send to an inspector at this WebSocket URL instead')
    .description("print the URL at which Stately's inspector receives actors live")
    .addHelpText(
      'after',
      examples(
        'troupe inspect default/session/agent:main:main',
        'troupe inspect default/session/agent:main:main --children',
        'troupe inspect default/session/agent:main:main --to ws://localhost:8080',
      ),
    )
    .action(async (addresses: string[], options: InspectOptions) => {
      finish(await (await import('./inspect.ts')).inspect(addresses, options));
    });
}
