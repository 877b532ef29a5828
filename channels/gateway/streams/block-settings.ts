/** How answers are split into blocks, and its configuration. */
import type { Config } from '../../../runtime/config/index.ts';
import type { BlockStreamOptions } from '../../blocks/block-stream.ts';

export type BlockSettings = BlockStreamOptions & {
  /** send blocks to requests that do not specify it */
  readonly byDefault?: boolean;
};

export function blockSettings({ agents: { defaults } }: Pick<Config, 'agents'>): BlockSettings {
  const { blockStreamingChunk: chunk, blockStreamingCoalesce: coalesce } = defaults;
  return {
    byDefault: defaults.blockStreamingDefault === 'on',
    chunk: {
      breakAt: defaults.blockStreamingBreak,
      charactersMin: chunk.minChars,
      charactersMax: chunk.maxChars,
      prefer: chunk.breakPreference,
    },
    coalesce: {
      charactersMin: coalesce.minChars,
      charactersMax: coalesce.maxChars,
      idleMs: coalesce.idleMs,
    },
  };
}
