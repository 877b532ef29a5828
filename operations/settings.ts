/**
 * The configuration in effect, the settings of the whole cluster, and the record of their changes
 * and of those of the agents.
 */
import { Type } from '@sinclair/typebox';
import { TroupeError } from '../protocols/errors.ts';
import {
  agentOfPath,
  SETTINGS_CHANGES_MAX,
  SETTINGS_INDEX,
  SETTINGS_KEY,
  type SettingChange,
  type SettingsChange,
  type SettingsChanged,
  type SettingsRow,
  settingsAddress,
} from '../protocols/settings.ts';
import { defined } from '../protocols/defined.ts';
import { askActor } from './ask-actor.ts';
import {
  type ConfigurationStatus,
  defineOperation,
  ObjectOf,
  type OperationContext,
  type Resource,
} from './operation.ts';
import { isoTime, table } from './text.ts';

type Context = Pick<OperationContext, 'system' | 'tenant' | 'caller' | 'configuration'>;
const LIMIT = 50;
const PAGE = 500;
const Version = (description: string) => Type.Integer({ minimum: 0, description });

const rowOf = ({ system, tenant }: Pick<Context, 'system' | 'tenant'>): SettingsRow | undefined =>
  system.index.get<SettingsRow>(SETTINGS_INDEX, tenant, SETTINGS_KEY, settingsAddress(tenant));

/** Versions after `after`, oldest first. */
async function versionsAfter(
  { system, tenant }: Pick<Context, 'system' | 'tenant'>,
  after: number,
): Promise<readonly SettingsChanged[]> {
  const versions: SettingsChanged[] = [];
  for (let from = 1; ; ) {
    const page = await system.transcripts.read(settingsAddress(tenant), { from, limit: PAGE });
    const read = page.map(({ entry: { type: _, ...rest } }) => rest as unknown as SettingsChanged);
    versions.push(...read.filter(({ version }) => version > after));
    if (page.length < PAGE) return versions;
    from = page.at(-1)!.position + 1;
  }
}

/** @throws TroupeError NOT_FOUND for a version that does not exist */
async function assertVersion(context: Pick<Context, 'system' | 'tenant'>, version: number) {
  const newest = rowOf(context)?.version ?? 0;
  if (version <= newest) return newest;
  throw new TroupeError('NOT_FOUND', `there is no version ${version}; the newest is ${newest}`);
}

/** What leads from the state of `from` to the state of `to`, by path. */
async function differences(
  context: Pick<Context, 'system' | 'tenant'>,
  from: number,
  to: number,
): Promise<readonly SettingChange[]> {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const versions = (await versionsAfter(context, low)).filter(({ version }) => version <= high);
  const byPath = new Map<string, SettingChange>();
  for (const change of versions.flatMap(({ changes }) => changes)) {
    const first = byPath.get(change.path);
    byPath.set(change.path, { ...change, from: first ? first.from : change.from });
  }
  return [...byPath.values()]
    .map((one) => (from <= to ? one : { path: one.path, from: one.to, to: one.from }))
    .filter((one) => JSON.stringify(one.from) !== JSON.stringify(one.to))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const change = (context: Context, event: Omit<SettingsChange, 'type'>): Promise<SettingsChanged> =>
  askActor<SettingsChanged>(
    context,
    settingsAddress(context.tenant),
    { type: 'settings.change', ...event },
    { name: 'the actor of the settings' },
  );

const status = defineOperation({
  name: 'settings.status',
  scope: 'installation',
  summary: 'Show which changes of the configuration wait for a restart, and the cluster settings',
  params: Type.Object({}),
  result: ObjectOf<ConfigurationStatus>(),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/settings',
    operationId: 'getSettings',
    responses: { 200: 'Of the process that answers; the cluster settings are those of all' },
  },
  cli: {
    command: 'config status',
    examples: ['troupe config status', 'troupe config status --json'],
    print: statusText,
  },
  run: ({ configuration }) => configuration.status(),
});

/** What the running gateway says about its configuration, with line breaks. */
export function statusText({
  restartNeeded,
  applyNeeded,
  problems,
  cluster: { version, values },
}: ConfigurationStatus): string {
  const lines = [
    ...problems.map(({ path, message, where }) =>
      ['the file is ignored:', where, path, message].filter(Boolean).join(' '),
    ),
    ...restartNeeded.map((path) => `restart needed: ${path}`),
    ...applyNeeded.map((path) => `for troupe config apply: ${path}`),
    ...Object.entries(values).map(
      ([path, value]) => `cluster setting: ${path} = ${JSON.stringify(value)}`,
    ),
    ...(version > 0 ? [`version of the cluster settings: ${version}`] : []),
  ];
  return lines.length === 0
    ? 'the file is in effect; no cluster setting\n'
    : lines.map((line) => `${line}\n`).join('');
}

const history = defineOperation({
  name: 'settings.history',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'List who changed cluster settings and agents, the newest version first',
  params: Type.Object({
    before: Type.Optional(Version('Only versions before this one')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: PAGE, description: `Default ${LIMIT}` }),
    ),
  }),
  result: Type.Object({ versions: Type.Array(ObjectOf<SettingsChanged>()) }),
  errors: ['UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/settings/history',
    operationId: 'listSettingsVersions',
    responses: { 200: 'Each version with its changes' },
  },
  cli: {
    command: 'config history',
    examples: ['troupe config history', 'troupe config history --json'],
    print: ({ versions }) =>
      versions.length === 0
        ? 'no changes\n'
        : table(
            ['version', 'at', 'by', 'changes'],
            versions.map(({ version, at, by, changes, restores }) => [
              String(version),
              isoTime(at),
              by,
              `${restores === undefined ? '' : `roll back to ${restores}: `}${changes.map(changeText).join('; ')}`,
            ]),
          ),
  },
  async run(context, { before, limit = LIMIT }) {
    const newest = rowOf(context)?.version ?? 0;
    const end = Math.min(before ?? newest + 1, newest + 1);
    const versions = await versionsAfter(context, Math.max(0, end - 1 - limit));
    return { versions: versions.filter(({ version }) => version < end).toReversed() };
  },
});

const shown = (value: unknown): string => {
  if (value === null) return '(not set)';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

/** Of an agent, only the keys that differ. */
function changeText({ path, from, to }: SettingChange): string {
  const isAgent = agentOfPath(path) !== undefined;
  if (!isAgent || from === null || to === null) return `${path}: ${shown(from)} → ${shown(to)}`;
  const [was, is] = [from, to] as Readonly<Record<string, unknown>>[];
  const keys = [...new Set([...Object.keys(was!), ...Object.keys(is!)])];
  return keys
    .filter((key) => JSON.stringify(was![key]) !== JSON.stringify(is![key]))
    .map((key) => `${path} ${key}: ${shown(was![key] ?? null)} → ${shown(is![key] ?? null)}`)
    .join('; ');
}

const diff = defineOperation({
  name: 'settings.diff',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Show what differs between two versions of the cluster settings and agents',
  params: Type.Object({
    from: Version('A version; 0: before the first change'),
    to: Type.Optional(Version('Another version; default: the newest')),
  }),
  result: Type.Object({ changes: Type.Array(ObjectOf<SettingChange>()) }),
  errors: ['NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/settings/diff',
    operationId: 'diffSettings',
    responses: { 200: 'From the value of `from` to the value of `to`, by path' },
  },
  cli: {
    command: 'config diff',
    args: ['from', 'to'],
    examples: ['troupe config diff 3 7', 'troupe config diff 3'],
    print: ({ changes }) =>
      changes.length === 0
        ? 'no difference\n'
        : changes.map((one) => `${changeText(one)}\n`).join(''),
  },
  async run(context, { from, to }) {
    const newest = await assertVersion(context, Math.max(from, to ?? 0));
    return { changes: [...(await differences(context, from, to ?? newest))] };
  },
});

/** `troupe config set --cluster` calls it. */
export const set = defineOperation({
  name: 'settings.set',
  scope: 'installation',
  summary: 'Set a key of the configuration in every process of the cluster, at once',
  params: Type.Object({
    path: Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'A key that is applied at once, as log.level',
    }),
    value: Type.Optional(
      Type.Unknown({ description: 'Its value; null or absent: the files decide again' }),
    ),
    expectedVersion: Type.Optional(Version('Refused if the settings have another version')),
  }),
  result: ObjectOf<SettingsChanged>(),
  errors: ['INVALID_ARGUMENT', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/settings',
    operationId: 'setSetting',
    responses: { 200: 'The version; processes apply it within a second' },
  },
  async run(context, { path, value = null, expectedVersion }) {
    const present = rowOf(context)?.values ?? {};
    if (agentOfPath(path) !== undefined)
      throw new TroupeError('INVALID_ARGUMENT', `${path} is not a key of the configuration`);
    // A value that is removed needs no check: the rest was accepted without it.
    if (value !== null) context.configuration.assertValues({ ...present, [path]: value });
    return change(context, { changes: [{ path, to: value }], ...defined({ expectedVersion }) });
  },
});

const rollback = defineOperation({
  name: 'settings.rollback',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Restore an earlier version of the cluster settings and agents, as a new version',
  params: Type.Object({ version: Version('The version to restore; 0: before the first change') }),
  result: ObjectOf<SettingsChanged>(),
  errors: ['NOT_FOUND', 'CONFLICT', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/settings/rollback',
    operationId: 'rollBackSettings',
    responses: { 200: 'The new version' },
  },
  cli: {
    command: 'config rollback',
    args: ['version'],
    input: {
      schema: Type.Object({
        version: Type.String({ description: 'The version to restore; 0: before the first change' }),
      }),
      toParams: ({ version }) => ({ version: Number(version) }),
    },
    examples: ['troupe config rollback 3'],
    print: ({ version, changes }, { version: wanted }) =>
      `version ${version} restores version ${wanted}\n${changes.map((one) => `${changeText(one)}\n`).join('')}`,
  },
  async run(context, { version }) {
    const newest = await assertVersion(context, version);
    const changes = await differences(context, newest, version);
    if (changes.length > SETTINGS_CHANGES_MAX)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `version ${version} differs in ${changes.length} settings; at most ${SETTINGS_CHANGES_MAX} can be restored at once`,
      );
    if (changes.some(({ path }) => agentOfPath(path)) && context.system.nodes().length === 0)
      throw new TroupeError(
        'CONFLICT',
        'the agents of this process are those of its configuration file: change them there (its .bak is the text before the last change through the gateway)',
      );
    return change(context, { changes, expectedVersion: newest, restores: version });
  },
});

export const settings: Resource = {
  name: 'settings',
  operations: [status, history, diff, set, rollback],
};
