/**
 * Settings of a whole cluster: values of configuration keys that every process applies at once, and
 * the record of every change of them and of the agents, which the root actor keeps.
 *
 * A version is a change. The transcript of the actor has one SettingsChanged per version, which is
 * never changed or removed. Secrets cannot be set, so the record contains none.
 */
import { type Address, address } from './address.ts';
import type { AgentSettings } from './agent.ts';

/** By path, as `log.level`. */
export type ClusterValues = Readonly<Record<string, unknown>>;

/** null: not set, or no such agent. `path`: a key of the configuration, or `agent/<id>`. */
export type SettingChange = {
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
};

/** Changes of one message. */
export const SETTINGS_CHANGES_MAX = 100;
/** Values that are set at once. */
export const SETTINGS_VALUES_MAX = 1_000;

/**
 * To the settings of a tenant, from an operator. Reply: SettingsChanged, of the present version
 * when nothing changes. CONFLICT when the version is not `expectedVersion`, INVALID_ARGUMENT beyond
 * the limits.
 */
export type SettingsChange = {
  readonly type: 'settings.change';
  /** `from` is only read for agents */
  readonly changes: readonly (Pick<SettingChange, 'path' | 'to'> & { readonly from?: unknown })[];
  readonly expectedVersion?: number;
  /** the version that the change restores */
  readonly restores?: number;
};

/** To the settings, from the root of the tenant: it has changed agents. No reply. */
export type SettingsNote = {
  readonly type: 'settings.note';
  readonly changes: readonly SettingChange[];
  readonly by: string;
};

/** An entry of the transcript: one version. */
export type SettingsChanged = {
  readonly version: number;
  /** epoch milliseconds */
  readonly at: number;
  readonly by: string;
  readonly changes: readonly SettingChange[];
  readonly restores?: number;
};
export const SETTINGS_CHANGED = 'settings.changed';

/** Index `settings`, key `current`. */
export const SETTINGS_INDEX = 'settings';
export const SETTINGS_KEY = 'current';
export type SettingsRow = {
  readonly version: number;
  readonly at: number;
  readonly by: string;
  readonly values: ClusterValues;
};

export const settingsAddress = (tenant: string): Address => address(tenant, 'settings', 'cluster');

const AGENT = 'agent/';
/** The path of an agent in the record. */
export const agentPath = (agentId: string): string => `${AGENT}${agentId}`;
/** The agent of a path; undefined for a key of the configuration. */
export const agentOfPath = (path: string): string | undefined =>
  path.startsWith(AGENT) ? path.slice(AGENT.length) : undefined;

/**
 * To the root, from the settings of its tenant: sets or retires (null) single agents. The change is
 * recorded already.
 */
export type RootAmend = {
  readonly type: 'root.amend';
  readonly agents: readonly { readonly agentId: string; readonly settings: AgentSettings | null }[];
};
