/** Runs a shell command behind a boundary to its end, for tests. */
import { text } from 'node:stream/consumers';
import type {
  Boundary,
  CommandEnd,
  SandboxedCommand,
  SandboxLimits,
} from '../../../agent/sandbox/boundary.ts';
import { DEFAULT_LIMITS } from '../../../agent/sandbox/supervised.ts';

export type Ran = CommandEnd & { readonly out: string; readonly error: string };

export type RunOptions = Partial<Omit<SandboxedCommand, 'argv' | 'limits'>> & {
  readonly limits?: Partial<SandboxLimits>;
};

export const commandOf = (script: string, options: RunOptions = {}): SandboxedCommand => ({
  access: 'rw',
  signal: new AbortController().signal,
  ...options,
  argv: ['/bin/sh', '-c', script],
  limits: { ...DEFAULT_LIMITS, timeoutMs: 30_000, ...options.limits },
});

export async function runIn(
  boundary: Boundary,
  script: string,
  options?: RunOptions,
): Promise<Ran> {
  const running = await boundary.run(commandOf(script, options));
  running.stdin.end();
  const [out, error, end] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    running.end,
  ]);
  return { ...end, out, error };
}
