/** How the running gateway of this data folder differs from the configuration file. */
import type { Config } from '../../runtime/config/index.ts';
import { runningConfiguration } from '../config/running-config.ts';
import type { CommonOptions } from '../options.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'running configuration';

/** No finding if no gateway of this data folder runs here. */
export async function* inEffect(
  { home }: Pick<Config, 'home'>,
  options: CommonOptions,
): AsyncGenerator<Finding> {
  const running = await runningConfiguration(home, options);
  if (running === undefined) return;
  const { problems, restartNeeded, applyNeeded } = running;
  if (problems.length > 0) {
    const all = problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
    yield fail(CHECK, `the gateway ignores its file: ${all}`, 'correct it, or start it again');
  }
  if (restartNeeded.length > 0)
    yield warn(CHECK, `restart needed: ${restartNeeded.join(', ')}`, 'start the gateway again');
  if (applyNeeded.length > 0)
    yield warn(
      CHECK,
      `not applied in the cluster: ${applyNeeded.join(', ')}`,
      'troupe config apply',
    );
  if (problems.length + restartNeeded.length + applyNeeded.length === 0)
    yield ok(CHECK, 'the gateway runs with this configuration');
}
