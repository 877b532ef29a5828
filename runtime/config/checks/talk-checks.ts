/**
 * Rules about agents that start agents which several keys must agree on.
 *
 * Boundary: as cross-checks.ts, which runs them.
 */
import type { Finding } from './check.ts';
import type { Config } from '../schema/schema.ts';

/**
 * A tree holds what one of its agents may use: else no subagent would ever be granted what its own
 * key promises, and the ceiling that ends it would be another one than a person reads there.
 */
export function treesHoldOne({ agents }: Config): Finding[] {
  const { sandbox, maxTokensPerTree, maxCostUsd, maxCostPerTreeUsd } = agents.spawnDefaults;
  const wishes: [pointer: string, tokens: number | undefined][] = [
    ['/agents/spawnDefaults/sandbox/maxTokens', sandbox.maxTokens],
    ...agents.agents.map(({ subagents }, index): [string, number | undefined] => [
      `/agents/agents/${index}/subagents/sandbox/maxTokens`,
      subagents?.sandbox?.maxTokens,
    ]),
  ];
  const findings: Finding[] = wishes.flatMap(([pointer, tokens]) =>
    tokens === undefined || tokens <= maxTokensPerTree
      ? []
      : [
          {
            pointer,
            value: String(tokens),
            message:
              `agents.spawnDefaults.maxTokensPerTree is ${maxTokensPerTree}: a whole tree may use ` +
              'less than this one subagent',
            allowed: `at most ${maxTokensPerTree}, or a larger maxTokensPerTree`,
          },
        ],
  );
  if (maxCostPerTreeUsd > 0 && maxCostUsd > maxCostPerTreeUsd) {
    findings.push({
      pointer: '/agents/spawnDefaults/maxCostUsd',
      value: String(maxCostUsd),
      message:
        `agents.spawnDefaults.maxCostPerTreeUsd is ${maxCostPerTreeUsd}: a whole tree may cost ` +
        'less than this one subagent',
      allowed: `at most ${maxCostPerTreeUsd}, or a larger maxCostPerTreeUsd`,
    });
  }
  return findings;
}
