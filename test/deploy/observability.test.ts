/**
 * Metrics, alarms and the dashboard: every expression of the shipped files uses metrics and labels
 * that a real gateway and a real worker export, every alarm has its section in docs/alarms.md, and
 * promtool accepts the files and raises each alarm.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { announced, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';

const shipped = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
};
const rules = (
  parse(shipped('deploy/prometheus-rules.yml')) as { groups: readonly { rules: readonly Rule[] }[] }
).groups.flatMap((group) => group.rules);

type Panel = {
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { uid: string } }[];
};
const { panels } = JSON.parse(shipped('deploy/grafana/dashboards/troupe.json')) as {
  readonly panels: readonly Panel[];
};
const targets = panels.flatMap((panel) => panel.targets ?? []);
const expressions = [...rules.map(({ expr }) => expr), ...targets.map(({ expr }) => expr)];

/** Of Prometheus itself, or exported only with a certificate of its own or for NATS. */
const ELSEWHERE = [
  'up',
  'troupe_certificate_expiry_timestamp_seconds',
  'troupe_certificate_fault',
  'troupe_gateway_certificate_expiry_timestamp_seconds',
  'troupe_gateway_certificate_fault',
];
/** Labels that a scrape adds. */
const SCRAPED = ['job', 'instance'];

/** Metrics of an expression, with the labels that it uses. */
function usesOf(expr: string): { names: Set<string>; labels: Set<string> } {
  const plain = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const labels = new Set<string>();
  const listed = plain.replace(/\b(?:by|without)\s*\(([^)]*)\)|\{([^}]*)\}/g, (_, by, matchers) => {
    for (const [name] of String(by ?? matchers).matchAll(/[a-z_]\w*/g)) labels.add(name);
    return '';
  });
  const withoutRanges = listed.replace(/\[[^\]]*\]/g, '');
  const names = withoutRanges.match(/\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?!\s*\()|\bup\b/g) ?? [];
  return { names: new Set(names), labels };
}

/** Names of series and of labels that a process exports. */
function exportsOf(text: string): { names: Set<string>; labels: Set<string> } {
  const names = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!));
  const labels = new Set<string>();
  for (const [, name, list = ''] of text.matchAll(/^([a-z_:][\w:]*)(?:\{(.*)\})? /gm)) {
    names.add(name!);
    for (const [, label] of list.matchAll(/(?:^|,)([a-z_]\w*)="/g)) labels.add(label!);
  }
  return { names, labels };
}

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';

/** What `troupe start` exports with a new data folder. */
async function exportedAlone(): Promise<string> {
  const home = scratchFolder();
  const token = 'token-of-this-test-0123456789';
  const env = { TROUPE_HOME: home, TROUPE_PORT: String(await reservePort()), TROUPE_TOKEN: token };
  await announced(startProgram(['start', '--json'], { home, env }), 60_000);
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`http://127.0.0.1:${env.TROUPE_PORT}/metrics`, { headers })).text();
}

/** What a gateway and a worker of a new cell export, after one refused envelope. */
async function exported(): Promise<{ readonly gateway: string; readonly worker: string }> {
  const nats = await startNats({ path: server!.path });
  onTestFinished(() => nats.stop());
  const home = scratchFolder();
  const [port, metricsPort] = [await reservePort(), await reservePort()];
  const config = { cluster: { shards: 2 }, nats: { storageBytes: 1e9 }, a2a: { metricsPort } };
  write(home, 'troupe.json5', JSON.stringify(config));
  const env = {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: nats.url,
    TROUPE_PORT: String(port),
    TROUPE_TOKEN: 'token-of-this-test-0123456789',
  };
  const start = (role: string) => startProgram([role, '--json'], { home, env });
  for (const started of ['worker', 'gateway'].map(start)) await announced(started, 60_000);
  const textOf = async (at: number) => {
    const headers = { authorization: `Bearer ${env.TROUPE_TOKEN}` };
    const response = await fetch(`http://127.0.0.1:${at}/metrics`, { headers });
    expect(response.status).toBe(200);
    return response.text();
  };
  // A refused envelope has every label of the counters.
  const refused = { authorization: 'Bearer unknown', 'content-type': 'application/json' };
  const sent = { method: 'POST', headers: refused, body: '{}' };
  await fetch(`http://127.0.0.1:${port}/v1/envelopes`, sent);
  const gateway = await eventually(async () => {
    const text = await textOf(port);
    expect(text).toMatch(/^a2a_requests_total\{/m);
    expect(text).toMatch(/^troupe_shards_unowned 0$/m);
    return text;
  }, 30_000);
  return { gateway, worker: await textOf(metricsPort) };
}

it.skipIf(!server)(
  `a gateway and a worker export every metric and label of the alarms and the dashboard${leftOut}`,
  async () => {
    const { gateway, worker } = await exported();
    const alone = await exportedAlone();
    const [a, b] = [exportsOf(gateway), exportsOf(worker)];
    const known = new Set([...a.names, ...b.names, ...exportsOf(alone).names, ...ELSEWHERE]);
    const labelled = new Set([...a.labels, ...b.labels, ...SCRAPED]);
    const missing = expressions.flatMap((expr) => {
      const { names, labels } = usesOf(expr);
      if (names.size === 0) return [`no metric in ${expr}`];
      return [
        ...[...names].filter((name) => !known.has(name)),
        ...[...labels].filter((label) => !labelled.has(label)),
      ].map((name) => `${name} in ${expr}`);
    });
    expect(missing).toEqual([]);
    expect(worker).toMatch(/^troupe_shard_takeovers_total\{reason="unowned"\} 2$/m);
    expect(worker).toMatch(/^troupe_shards_owned 2$/m);
    expect(alone).toMatch(/^troupe_backup_age_seconds\{cell="[^"]+"\} \+Inf$/m);
    expect(gateway).toMatch(/^troupe_effects_unknown 0$/m);
    expect(gateway).toMatch(/^troupe_dead_letters_open 0$/m);
    expect(gateway).toMatch(/^troupe_jetstream_used_bytes [1-9]\d*$/m);
    expect(gateway).toMatch(/^troupe_jetstream_limit_bytes [1-9]\d*$/m);
    expect(gateway).toMatch(/^troupe_disk_free_bytes [1-9]\d*$/m);
  },
  120_000,
);

describe('the reader of expressions', () => {
  it('finds metrics and labels, and no function', () => {
    const expr = 'histogram_quantile(0.9, sum by (le) (rate(a_ms_bucket{tenant!="by (x)"}[5m])))';
    expect(usesOf(expr)).toEqual({
      names: new Set(['a_ms_bucket']),
      labels: new Set(['le', 'tenant']),
    });
    expect(usesOf('absent(up{job="a"} == 1)')).toEqual({
      names: new Set(['up']),
      labels: new Set(['job']),
    });
  });
});

describe('each alarm', () => {
  const page = shipped('docs/alarms.md');
  const sections = new Map(page.split(/^## /m).map((text) => [text.split('\n', 1)[0]!, text]));

  it.each(rules)('$alert links to its section, with meaning, first look and remedy', (rule) => {
    const { alert, annotations } = rule;
    expect(annotations.runbook).toBe(`docs/alarms.md#${alert.toLowerCase()}`);
    const section = sections.get(alert) ?? '';
    for (const part of ['**Meaning.**', '**First look.**', '**What to do.**'])
      expect(section).toContain(part);
  });

  it('of the page exists', () => {
    const known = new Set(rules.map(({ alert }) => alert));
    const described = [...sections.keys()].slice(1);
    expect(described.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('has panels that do not overlap, each with its own id', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  it('is provisioned: its data source and its folder are those of the Compose file', () => {
    const sources = parse(shipped('deploy/grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: readonly { uid: string; url: string }[];
    };
    expect(new Set(targets.map(({ datasource }) => datasource.uid))).toEqual(
      new Set(sources.datasources.map(({ uid }) => uid)),
    );
    const { services } = parse(shipped('docker-compose.yml'), { merge: true }) as {
      services: Record<string, { profiles?: string[]; volumes?: string[] }>;
    };
    const profiled = Object.keys(services).filter((name) => services[name]!.profiles);
    expect(profiled.toSorted()).toEqual(['alertmanager', 'grafana', 'prometheus']);
    for (const { url } of sources.datasources)
      expect(services).toHaveProperty(new URL(url).hostname);
    const mounts = new Map(
      profiled.flatMap((name) =>
        services[name]!.volumes!.filter((volume) => volume.startsWith('./')).map((volume) => {
          const [from, to] = volume.split(':');
          return [to!, from!] as const;
        }),
      ),
    );
    const isThere = (from: string) => existsSync(new URL(`../../${from}`, import.meta.url));
    expect([...mounts.values()].filter((from) => !isThere(from))).toEqual([]);
    const { providers } = parse(shipped('deploy/grafana/provisioning/dashboards/troupe.yml')) as {
      providers: readonly { options: { path: string } }[];
    };
    for (const { options } of providers)
      expect(mounts.get(options.path)).toBe('./deploy/grafana/dashboards');
  });
});

const programOf = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
const promtool = programOf('promtool');
const withoutIt = promtool ? '' : ' (left out: there is no promtool here)';

describe.skipIf(!promtool)(`promtool${withoutIt}`, () => {
  const run = (...args: string[]) =>
    execFileSync(promtool!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const path = (name: string) => new URL(name, import.meta.url).pathname;

  it('raises each alarm by what it is for, and not before', () => {
    run('test', 'rules', path('prometheus/rules.test.yml'), path('prometheus/slow-rules.test.yml'));
    const tests = shipped('test/deploy/prometheus/rules.test.yml').concat(
      shipped('test/deploy/prometheus/slow-rules.test.yml'),
    );
    const raised = new Set(
      [...tests.matchAll(/labels: '\{alertname="(\w+)"\}', value: 1/g)].map(([, name]) => name),
    );
    expect(rules.map(({ alert }) => alert).filter((name) => !raised.has(name))).toEqual([]);
  });

  it('accepts the configuration with its files', () => {
    const folder = scratchFolder();
    mkdirSync(join(folder, 'token'));
    write(folder, 'token/gateway', 'secret');
    write(folder, 'rules.yml', shipped('deploy/prometheus-rules.yml'));
    const text = shipped('deploy/prometheus.yml')
      .replaceAll('/token/', `${folder}/token/`)
      .replaceAll('/etc/prometheus/rules.yml', `${folder}/rules.yml`);
    expect(run('check', 'config', write(folder, 'prometheus.yml', text))).toContain('SUCCESS');
  });
});
