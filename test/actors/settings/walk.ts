/** The events that settings can receive, and the invariants that hold on every path. */
import { settingsMachine } from '../../../actors/settings/machine.ts';
import type { SettingsContext } from '../../../actors/settings/versions.ts';
import {
  agentPath,
  type RootAmend,
  SETTINGS_CHANGES_MAX,
  type SettingsChange,
  type SettingsChanged,
  type SettingsNote,
  settingsAddress,
  type SettingsRow,
} from '../../../protocols/settings.ts';
import type { Append, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const contextOf = ({ snapshot }: Live) => snapshot.context as SettingsContext;

/** The recorded versions, and the values that they lead to, counted from the records alone. */
class Versions {
  version = 0;
  values: { readonly [path: string]: unknown } = {};

  copy(): Versions {
    return Object.assign(new Versions(), this);
  }

  take({ cause, step }: Happened): void {
    const entries = requestsOf<Append>(step.requests, 'append').flatMap((one) => one.entries);
    const rows = requestsOf<Project>(step.requests, 'project');
    const sent = requestsOf<Tell>(step.requests, 'tell');
    const replies = requestsOf<Reply>(step.requests, 'reply');
    demand(entries.length, 'one record per turn').toBeLessThanOrEqual(1);
    demand(rows, 'the row and its record change together').toHaveLength(entries.length);
    const [entry] = entries as unknown as SettingsChanged[];
    if (entry) this.#version(entry, rows[0]!.value as SettingsRow);
    const agents = entry?.changes.filter(({ path }) => path.startsWith(agentPath(''))) ?? [];
    const asked = cause.event.type === 'settings.change';
    const amended = sent.flatMap(({ event }) => (event as RootAmend).agents);
    demand(amended).toHaveLength(asked ? agents.length : 0);
    demand(replies).toHaveLength(asked ? 1 : 0);
    for (const { result, error } of replies) {
      if (error) demand(entries, 'a refusal changes nothing').toEqual([]);
      else demand((result as SettingsChanged).version).toBe(this.version);
    }
    demand(contextOf(step.live).values).toEqual(this.values);
  }

  #version({ version, changes }: SettingsChanged, row: SettingsRow): void {
    demand(version, 'no version is left out or repeated').toBe(this.version + 1);
    demand(changes).not.toEqual([]);
    this.version = version;
    for (const { path, from, to } of changes) {
      if (path.startsWith(agentPath(''))) continue;
      demand(from).toEqual(this.values[path] ?? null);
      const { [path]: _, ...others } = this.values;
      this.values = to === null ? others : { ...others, [path]: to };
    }
    demand(row).toMatchObject({ version, values: this.values });
    demand(row.values).toEqual(this.values);
  }
}

const change = (
  name: string,
  changes: SettingsChange['changes'],
  more: Partial<SettingsChange> = {},
): Move => ({ name, event: { type: 'settings.change', changes, ...more } });

const settings = { agentId: 'a', timeoutMs: 1_000, runsMax: 1, tokensPerDay: 0 };
const note: SettingsNote = {
  type: 'settings.note',
  changes: [{ path: agentPath('a'), from: null, to: settings }],
  by: 'ada',
};
const many = Array.from({ length: SETTINGS_CHANGES_MAX + 1 }, (_, n) => ({ path: `k${n}`, to: n }));

export const MOVES: readonly Move[] = [
  change('set', [{ path: 'log.level', to: 'warn' }]),
  change('set another value', [{ path: 'log.level', to: 'info' }]),
  change('set first', [{ path: 'log.level', to: 'debug' }], { expectedVersion: 0 }),
  change('remove', [{ path: 'log.level', to: null }]),
  change('set two', [
    { path: 'log.level', to: 'warn' },
    { path: 'a2a.quota', to: { tenantPerMinute: 1 } },
  ]),
  change('set too many', many),
  change('restore an agent', [{ path: agentPath('a'), from: settings, to: null }], { restores: 1 }),
  { name: 'note', event: note },
];

export const exploration: Exploration = {
  machine: settingsMachine,
  self: settingsAddress('default'),
  moves: () => MOVES,
  key: (live) => {
    const { values, last } = contextOf(live);
    return [values, Math.min(3, last?.version ?? 0)];
  },
  ledger: () => new Versions(),
};
