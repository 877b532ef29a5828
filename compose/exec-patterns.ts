/** Patterns of commands in a configuration: one that can match nothing is refused at the start. */
import { patternFault } from '../actors/agent/policy/exec-patterns.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { ResolvedAgent } from '../runtime/config/index.ts';

/** @throws TroupeError INVALID_ARGUMENT that names the agent, each such pattern and why */
export function checkExecPatterns(agents: readonly Pick<ResolvedAgent, 'id' | 'tools'>[]): void {
  const faults = agents.flatMap(({ id, tools }) =>
    tools.exec.allow.flatMap((pattern) => {
      const fault = patternFault(pattern);
      return fault === undefined
        ? []
        : [`tools.exec.allow of agent ${id}: ${JSON.stringify(pattern)} matches nothing: ${fault}`];
    }),
  );
  if (faults.length > 0) throw new TroupeError('INVALID_ARGUMENT', faults.join('; '));
}
