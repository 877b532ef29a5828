/** Versions: the pure parts of the chart of the settings. */
import type { AgentSettings } from '../../protocols/agent.ts';
import {
  agentOfPath,
  type ClusterValues,
  type RootAmend,
  SETTINGS_CHANGED,
  SETTINGS_CHANGES_MAX,
  SETTINGS_INDEX,
  SETTINGS_KEY,
  SETTINGS_VALUES_MAX,
  type SettingChange,
  type SettingsChange,
  type SettingsChanged,
  type SettingsNote,
  type SettingsRow,
} from '../../protocols/settings.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type {
  ActorInput,
  Append,
  Delivered,
  Project,
  Reply,
  Tell,
} from '../../protocols/statechart.ts';
import { rootAddress } from '../../protocols/supervision.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type SettingsContext = {
  readonly tenant: string;
  readonly values: ClusterValues;
  /** the newest version; null: nothing was changed yet */
  readonly last: SettingsChanged | null;
};
export type SettingsEvent = Delivered<SettingsChange> | Delivered<SettingsNote>;
type Args = ActionArgs<SettingsContext, SettingsEvent>;
const { on } = handlersOf<SettingsContext, SettingsEvent>();

export const initialContext = ({ tenant }: ActorInput): SettingsContext => ({
  tenant,
  values: {},
  last: null,
});

const versionOf = ({ last }: SettingsContext): number => last?.version ?? 0;

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * What a change does to the values; agents are kept by the root, which does not change them twice.
 */
const effective = (
  { values }: SettingsContext,
  { changes }: Pick<SettingsChange, 'changes'>,
): readonly SettingChange[] =>
  changes
    .map(({ path, from, to }) => ({
      path,
      from: agentOfPath(path) === undefined ? (values[path] ?? null) : (from ?? null),
      to: to ?? null,
    }))
    .filter(({ from, to }) => !isSame(from, to));

const valuesAfter = (values: ClusterValues, changes: readonly SettingChange[]): ClusterValues => {
  const own = changes.filter(({ path }) => agentOfPath(path) === undefined);
  const next = { ...values, ...Object.fromEntries(own.map(({ path, to }) => [path, to])) };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
};

export const isTooLarge = on('settings.change', ({ context, event }): boolean => {
  const values = valuesAfter(context.values, effective(context, event));
  return (
    event.changes.length > SETTINGS_CHANGES_MAX || Object.keys(values).length > SETTINGS_VALUES_MAX
  );
});

export const isStale = on(
  'settings.change',
  ({ context, event }): boolean =>
    event.expectedVersion !== undefined && event.expectedVersion !== versionOf(context),
);

export const changesNothing = on(
  'settings.change',
  ({ context, event }): boolean => effective(context, event).length === 0,
);

export const hasAgents = on('settings.change', ({ event }): boolean =>
  event.changes.some(({ path }) => agentOfPath(path) !== undefined),
);

export const change = on('settings.change', ({ context, event }): Partial<SettingsContext> => {
  const changes = effective(context, event);
  return {
    values: valuesAfter(context.values, changes),
    last: {
      version: versionOf(context) + 1,
      at: event.meta.now,
      by: event.meta.principal?.sub ?? event.meta.from ?? 'unknown',
      changes,
      ...(event.restores === undefined ? {} : { restores: event.restores }),
    },
  };
});

export const note = on(
  'settings.note',
  ({ context, event: { changes, by, meta } }): Partial<SettingsContext> => ({
    last: { version: versionOf(context) + 1, at: meta.now, by, changes },
  }),
);

export const entry = ({ context }: Args): Append => ({
  entries: [{ type: SETTINGS_CHANGED, ...context.last! }],
});

export const row = ({ context }: Args): Project => {
  const { version, at, by } = context.last!;
  const value: SettingsRow = { version, at, by, values: context.values };
  return { index: SETTINGS_INDEX, key: SETTINGS_KEY, value };
};

export const toRoot = ({ context }: Args): Tell => {
  const agents = context.last!.changes.flatMap(({ path, to }) => {
    const agentId = agentOfPath(path);
    return agentId === undefined ? [] : [{ agentId, settings: to as AgentSettings | null }];
  });
  const event: RootAmend = { type: 'root.amend', agents };
  return { to: rootAddress(context.tenant), event };
};

const NONE: SettingsChanged = { version: 0, at: 0, by: '', changes: [] };

export const answer = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: context.last ?? NONE,
});

const refusal = ({ event }: Args, code: ErrorData['code'], message: string): Reply => ({
  to: event.meta.reply,
  error: { code, message },
});

export const stale = (args: Args): Reply =>
  refusal(
    args,
    'CONFLICT',
    `the settings have version ${versionOf(args.context)} now: read them again, and repeat the change`,
  );

export const tooLarge = (args: Args): Reply =>
  refusal(
    args,
    'INVALID_ARGUMENT',
    `at most ${SETTINGS_CHANGES_MAX} changes at once and ${SETTINGS_VALUES_MAX} values`,
  );
