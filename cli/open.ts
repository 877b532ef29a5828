/** `troupe open`: opens the page of the gateway, signed in. */
import { connectionError } from '../client/gateway-errors.ts';
import { exitCodes } from './exit.ts';
import { openBrowser } from './open-browser.ts';
import { type CommonOptions, loadToConnect, originOf } from './options.ts';
import { printJson } from './output.ts';
import { isTroupe } from './processes/probe.ts';
import { withSecret } from './processes/start.ts';

export type OpenOptions = CommonOptions & {
  /** false: only print the URL */
  readonly browser: boolean;
};

/** @throws TroupeError UNAVAILABLE (exit code 3) when no gateway answers */
export async function open(options: OpenOptions): Promise<number> {
  const { config } = await loadToConnect(options);
  const origin = await originOf(config, options);
  if (!(await isTroupe(origin))) throw connectionError('unreachable', origin);
  const url = withSecret(`${origin}/`, config);
  const opened = options.browser && (await openBrowser(url));
  if (options.json) printJson({ url, opened });
  else process.stdout.write(`${url}\n`);
  return exitCodes.ok;
}
