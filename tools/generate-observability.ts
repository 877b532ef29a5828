/**
 * Writes deploy/prometheus-rules.yml and deploy/grafana/dashboards/troupe.json from
 * tools/observability: `node tools/run.mjs tools/generate-observability.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { jsonText } from './json-text.ts';
import { ALARMS, type Alarm } from './observability/alarms.ts';
import { dashboard } from './observability/dashboard.ts';

const folder = join(process.cwd(), 'deploy');

const rule = ({ alert, expr, for: wait, severity, summary }: Alarm): object => ({
  alert,
  expr,
  ...(wait === undefined ? {} : { for: wait }),
  labels: { severity },
  annotations: { summary, runbook: `docs/alarms.md#${alert.toLowerCase()}` },
});

const head =
  '# The alarms of docs/alarms.md. Generated from tools/observability/alarms.ts: do not edit.\n';
const rules = stringify(
  { groups: [{ name: 'troupe', rules: ALARMS.map(rule) }] },
  { lineWidth: 0 },
);
writeFileSync(join(folder, 'prometheus-rules.yml'), head + rules);

mkdirSync(join(folder, 'grafana', 'dashboards'), { recursive: true });
writeFileSync(join(folder, 'grafana', 'dashboards', 'troupe.json'), jsonText(dashboard()));
