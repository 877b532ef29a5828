/** `troupe open`: opens the page of the gateway, signed in. */
import { connectionError } from '../client/gateway-errors.ts';
import { exitCodes } from './exit.ts';
import { openBrowser } from './open-browser.ts';
import { addressOf, type CommonOptions, loadFrom } from './options.ts';
import { printJson } from './output.ts';
import { isTroupe } from './processes/probe.ts';
import { withSecret } from './processes/start.ts';

export type OpenOptions = CommonOptions & {
  /** false: only print the URL */
  readonly browser: boolean;
};

/** @throws TroupeError UNAVAILABLE (exit code 3) when no gateway answers */
export async function open(options: OpenOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const address = await addressOf(config, options);
  if (!(await isTroupe(address))) throw connectionError('unreachable', `http://${address}`);
  const url = withSecret(`http://${address}/`, config);
  const opened = options.browser && (await openBrowser(url));
  if (options.json) printJson({ url, opened });
  else process.stdout.write(`${url}\n`);
  return exitCodes.ok;
}
