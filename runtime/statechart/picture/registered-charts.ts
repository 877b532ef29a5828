/** The charts of the actor types of this process, as operators see them. */
import type { Charts } from '../../../charts/published.ts';
import { countInside } from '../../../charts/chart.ts';
import type { Registry } from '../../actor/registry.ts';
import { chartOf } from './chart-of.ts';

export const registeredCharts = (registry: Registry): Charts => ({
  list: () =>
    registry.all().map(({ type, version, machine }) => ({
      type,
      version,
      states: countInside(chartOf(machine).root),
    })),
  async get(type, { version, definition = false } = {}) {
    const found =
      version === undefined ? registry.latest(type) : registry.exact(`${type}@${version}`);
    if (!found) return undefined;
    const { pictureOf } = await import('./pictures.ts');
    const { chart, hash, levels } = await pictureOf(found.machine);
    const published = { type, version: found.version, hash, chart, levels };
    if (!definition) return published;
    const { exportBare } = await import('../export.ts');
    return { ...published, definition: JSON.parse(exportBare(found.machine)) as unknown };
  },
});
