/** The actors of a system for operators, whose code is loaded with the first question. */
import { LazyValue } from '../../protocols/lazy-value.ts';
import type { Actors } from '../system.ts';
import type { LiveActorsOptions } from './live-actors.ts';

export const lateActors = (options: LiveActorsOptions): Actors => {
  const loaded = new LazyValue(async () => {
    const { LiveActors } = await import('./live-actors.ts');
    return new LiveActors(options);
  });
  const live = () => loaded.get();
  return {
    list: async (...about) => (await live()).list(...about),
    get: async (...about) => (await live()).get(...about),
    turns: async (...about) => (await live()).turns(...about),
    history: async (...about) => (await live()).history(...about),
    turn: async (...about) => (await live()).turn(...about),
    recording: async (...about) => (await live()).recording(...about),
    past: async (...about) => (await live()).past(...about),
  };
};
