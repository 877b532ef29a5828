/**
 * Chosen: the models and the thinking level of a run, from stored choices. Entry points refuse
 * unknown names, but a stored name may be older than that check, or its provider may have been
 * removed from the configuration. Such a choice does not end the run: the agent's own setting
 * applies, and the reply says so. Pure.
 */
import type { AgentSettings } from '../../protocols/agent.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { ModelCatalog } from './catalog.ts';
import type { ThinkingLevel } from './model.ts';
import { isThinkingLevel, THINKING_LEVELS } from './thinking.ts';

export type StoredChoice = {
  readonly model?: string | undefined;
  readonly thinking?: string | undefined;
  readonly settings: Pick<AgentSettings, 'model' | 'fallbacks' | 'thinking'>;
};

export type Chosen = {
  /** models to try, in order; at least one */
  readonly names: readonly [string, ...string[]];
  readonly thinking?: ThinkingLevel;
  /** stored names that are unknown, for users */
  readonly notices: readonly string[];
};

/** @throws TroupeError INVALID_ARGUMENT when the agent's own model is unknown */
export const chosenFor = (catalog: ModelCatalog, stored: StoredChoice): Chosen => {
  const { model: agentModel = catalog.defaultModel(), fallbacks = [] } = stored.settings;
  const asked = stored.model ?? agentModel;
  const problem = asked === agentModel ? undefined : problemOf(catalog, asked);
  const { name } = catalog.resolve(problem === undefined ? asked : agentModel);
  const level = stored.thinking || undefined;
  const agentLevel = stored.settings.thinking ?? 'off';
  const isWrong = level !== undefined && !isThinkingLevel(level);
  const thinking = isWrong ? agentLevel : level;
  return {
    names: [name, ...fallbacks.filter((one) => problemOf(catalog, one) === undefined)],
    ...(thinking !== undefined && isThinkingLevel(thinking) ? { thinking } : {}),
    notices: [
      ...(problem === undefined ? [] : [`The model ${asked} is unknown: ${name} answered.`]),
      ...(isWrong ? [wrongLevel(level)] : []),
    ],
  };
};

const problemOf = (catalog: ModelCatalog, name: string): string | undefined => {
  try {
    catalog.resolve(name);
    return undefined;
  } catch (error) {
    if (error instanceof TroupeError && error.code === 'INVALID_ARGUMENT')
      return errorData(error).message;
    throw error;
  }
};

const wrongLevel = (level: string): string =>
  `The thinking level ${JSON.stringify(level.slice(0, 60))} does not exist, and the agent’s level ` +
  `was used. Levels: ${THINKING_LEVELS.join(', ')}.`;
