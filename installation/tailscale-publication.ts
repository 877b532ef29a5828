/**
 * The gateway published by Tailscale: `tailscale serve` inside the tailnet, `tailscale funnel` to
 * the internet, both to the loopback port of this gateway. A publication remains when troupe stops,
 * unless `resetOnExit` is set.
 *
 * A failed publication does not stop the gateway, which still serves this machine; the log says
 * what to do.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Config } from '../runtime/config/index.ts';
import type { Gateway } from '../channels/index.ts';

type Log = {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
};
type TailscaleConfig = Config['gateway']['tailscale'];

const COMMAND_MS = 20_000;
const OUTPUT_BYTES_MAX = 65_536;
/** Length of the command's output in the log. */
const SAID_CHARACTERS_MAX = 500;

const run = promisify(execFile);

/** The same gateway, published. Closing it ends the publication if `resetOnExit` is set. */
export async function publishedBy(
  { mode, resetOnExit, binary }: TailscaleConfig,
  gateway: Gateway,
  log: Log,
): Promise<Gateway> {
  if (mode === 'off') return gateway;
  const tailscale = async (args: readonly string[], what: string): Promise<boolean> => {
    try {
      const options = { timeout: COMMAND_MS, maxBuffer: OUTPUT_BYTES_MAX };
      const { stdout } = await run(binary, [...args], options);
      log.info({ mode, said: stdout.trim().slice(0, SAID_CHARACTERS_MAX) }, `tailscale: ${what}`);
      return true;
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      const said = (stderr?.trim() || message).slice(0, SAID_CHARACTERS_MAX);
      log.warn(
        { mode, said },
        `tailscale: not ${what}; only this machine can reach the gateway. Run \`${binary} ${args.join(' ')}\` to see why`,
      );
      return false;
    }
  };
  const published = await tailscale([mode, '--bg', '--yes', String(gateway.port)], 'published');
  return {
    ...gateway,
    async close(options) {
      await gateway.close(options);
      if (published && resetOnExit) await tailscale([mode, 'reset'], 'taken back');
    },
  };
}
