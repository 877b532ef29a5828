/**
 * Chooses the boundary of sandboxed commands: the configured one, or the first that works here. The
 * first command tries it, so that a start costs nothing. A working boundary is kept; after a
 * failure the next command tries again. It never falls back to the host.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Boundary } from './boundary.ts';
import { createBubblewrap, probeBubblewrap } from './bubblewrap.ts';
import { createDocker, probeDocker } from './docker.ts';

export type SandboxOptions = {
  /** default `auto` */
  readonly boundary?: 'auto' | 'bubblewrap' | 'docker';
  /** image of Docker's containers; default `debian:12-slim` */
  readonly image?: string;
};

/** The boundary that works here, or why none does and what to do. */
export type FoundSandbox = { readonly boundary: Boundary } | { readonly missing: string };

export async function findSandbox(options: SandboxOptions = {}): Promise<FoundSandbox> {
  const missing: string[] = [];
  for (const { boundary, probe } of candidatesOf(options)) {
    const why = await probe();
    if (why === undefined) return { boundary };
    missing.push(why);
  }
  return { missing: missing.join('; ') };
}

const candidatesOf = ({ boundary = 'auto', image }: SandboxOptions) => {
  const bubblewrap = { boundary: createBubblewrap(), probe: probeBubblewrap };
  const docker = {
    boundary: createDocker(image === undefined ? {} : { image }),
    probe: () => probeDocker(image),
  };
  if (boundary === 'auto') return [bubblewrap, docker];
  return boundary === 'bubblewrap' ? [bubblewrap] : [docker];
};

export function createSandbox(
  options: SandboxOptions = {},
  find: (options: SandboxOptions) => Promise<FoundSandbox> = findSandbox,
): Boundary {
  let finding: Promise<FoundSandbox> | undefined;
  return {
    kind: options.boundary ?? 'auto',
    async run(command) {
      const found = await (finding ??= find(options));
      if ('boundary' in found) return found.boundary.run(command);
      finding = undefined;
      throw new TroupeError(
        'UNAVAILABLE',
        `This command must run in a sandbox, and no sandbox works here, so it was not run. ${found.missing}`,
        { details: { reason: 'no_sandbox' } },
      );
    },
  };
}
