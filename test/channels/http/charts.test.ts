/** Charts over HTTP: list, and one with its drawings. */
import { expect, it } from 'vitest';
import type { ChartSummary, PublishedChart } from '../../../charts/published.ts';
import { install } from '../../agent-runs/installation.ts';
import { TOKEN } from '../gateway/client.ts';

it('lists the types and shows the chart of one, which clients may keep', async () => {
  const { url } = await install({ config: {} });
  const get = (path: string) =>
    fetch(new URL(path, url), { headers: { authorization: `Bearer ${TOKEN}` } });
  const { charts } = (await (await get('/v1/charts')).json()) as { charts: ChartSummary[] };
  expect(charts.map(({ type }) => type)).toContain('session');
  const response = await get('/v1/charts/session?definition=true');
  expect(response.headers.get('cache-control')).toBe('private, max-age=300');
  const shown = (await response.json()) as PublishedChart;
  expect(shown).toMatchObject({ type: 'session', chart: { root: { key: 'session' } } });
  expect(shown.levels.length).toBeGreaterThan(2);
  expect(shown.definition).toMatchObject({ id: 'session' });
  expect(await get('/v1/charts/nothing')).toMatchObject({ status: 404 });
  expect(await fetch(new URL('/v1/charts', url))).toMatchObject({ status: 401 });
});
