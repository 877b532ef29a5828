/**
 * Generates docs/config.md from the schema: every key with its type, default and meaning. `troupe
 * config reference` prints it; a test checks that the file is current.
 */
import type { TProperties, TSchema } from '@sinclair/typebox';
import {
  BUILT_IN_PROVIDER_IDS,
  BUILT_IN_PROVIDERS,
  OFFLINE_PROVIDER,
} from '../../protocols/models/model-providers.ts';
import { allowed } from './checks/check.ts';
import { childSchema, childSchemas, type WhenApplied } from './schema/fields.ts';
import { overrides } from './overrides.ts';
import { parsePointer, showPointer } from './pointer.ts';
import { loadedSchema } from './schema/schema.ts';
import { whenOf } from './when-applied.ts';
import { toolAliases, toolGroups } from './schema/tool-names.ts';

type Row = {
  readonly path: string;
  readonly schema: TSchema;
  readonly when: WhenApplied;
};

/** The whole page, Markdown. */
export function configReference(): string {
  const rows = rowsOf(loadedSchema, '');
  const sections = Object.entries(loadedSchema.properties as TProperties).map(([key, schema]) => {
    const own = rows.filter(({ path }) => path === key || path.startsWith(`${key}.`));
    return [`## ${key}`, '', sentence(schema.description), '', ...table(own.filter(isField))].join(
      '\n',
    );
  });
  return `${[intro, ...sections, toolTable(), example].join('\n\n')}\n`;
}

/** Fields in the order of the schema, sections among them. */
function rowsOf(schema: TSchema, path: string, outer: WhenApplied = 'restart'): Row[] {
  return childSchemas(schema).flatMap(([key, child]) => {
    const own = pathOf(path, key);
    const when = whenOf(child, outer);
    const row = { path: own, schema: child, when };
    return 'x-same-as' in child ? [row] : [row, ...rowsOf(child, own, when)];
  });
}

function pathOf(path: string, key: string): string {
  if (key === '[]') return `${path}[]`;
  if (key === '*') return `${path}.<name>`;
  return path === '' ? key : `${path}.${key}`;
}

/** What a table lists: no sections, and no elements of plain lists. */
const isField = ({ path, schema }: Row) =>
  'x-same-as' in schema ||
  ((schema.type !== 'object' || childSchemas(schema).length === 0) &&
    !(path.endsWith('[]') && childSchemas(schema).length === 0));

const table = (rows: readonly Row[]): string[] => [
  '| key | allowed | default | applied | meaning |',
  '| --- | --- | --- | --- | --- |',
  ...rows.map(
    ({ path, schema, when }) =>
      `| \`${path}\` | ${cell(allowedOf(schema))} | ${cell(standard(schema))} | ` +
      `${'x-same-as' in schema ? '' : APPLIED[when]} | ${cell(schema.description ?? '')} |`,
  ),
];

const APPLIED = { process: 'at once', agents: 'at once (agents)', restart: 'restart' } as const;

const allowedOf = (schema: TSchema): string => {
  const section: unknown = schema['x-same-as'];
  return typeof section === 'string'
    ? `the keys of [${section}](#${section.split('.')[0]})`
    : allowed(schema);
};

const standard = (schema: TSchema) =>
  'default' in schema ? `\`${JSON.stringify(schema.default)}\`` : '';

const cell = (text: string) => text.replaceAll('|', '\\|');
const sentence = (text = '') => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** A key that a flag or a variable may set. */
function overrideRow({ pointer, variable, flag, takes, note }: (typeof overrides)[number]): string {
  const schema = parsePointer(pointer).reduce<TSchema | undefined>(
    (at, key) => (at ? childSchema(at, key) : undefined),
    loadedSchema,
  );
  const cells = [
    `\`${showPointer(pointer)}\``,
    flag ? `\`--${flag} ${takes}\`` : '',
    variable ? `\`${variable}\`` : '',
    schema && standard(schema) ? standard(schema) : (note ?? ''),
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
}

const intro = `# Configuration

<!-- Made by \`troupe config reference > docs/config.md\` from the descriptions in runtime/config. -->

One file in [JSON5](https://json5.org) (JSON with comments, trailing commas and unquoted keys), the
environment, and flags. A flag wins over the environment, the environment over the file, the file over
the defaults. \`troupe config check\` says what is wrong with it, \`troupe config show\` prints each value
and where it comes from, \`troupe config schema\` prints the JSON Schema for your editor.

| what | flag | environment | default |
| --- | --- | --- | --- |
| the file | \`--config FILE\` | \`TROUPE_CONFIG\` | \`troupe.json5\` in the data folder, if there is one |
| the data folder | \`--data DIR\` | \`TROUPE_HOME\` | \`~/.troupe\` |
${overrides.map(overrideRow).join('\n')}
${Object.entries(BUILT_IN_PROVIDERS)
  .map(
    ([id, { keyVariables }]) =>
      `| \`models.providers.${id}.apiKey\` | | ${keyVariables.map((name) => `\`${name}\``).join(' or ')} (the file wins; sent to the provider’s own address only) | |`,
  )
  .join('\n')}

A wrong value, an unknown key or a name that refers to nothing stops the start; the report names every
problem with its place in the file. A folder may begin with \`~\`; a relative one starts at the file.

A **changed file** is noticed within a second by every process that read it. The column "applied" says
when a key takes effect: "at once"; "at once (agents)", through the settings of the agents, which a
cluster keeps for all its processes, so that \`troupe config apply\` changes them there; or at the next
"restart". The log, \`troupe config\` and \`troupe config check\` name the keys that need a restart. A
file with a problem changes nothing; the log names every problem. A key that is applied "at once" may
be set for all processes of a cluster: [cluster settings](cluster.md#settings-of-the-whole-cluster).

A **secret** is written as a text, or better as a reference: \`{ env: "NAME" }\`, \`{ file: "path" }\`, or
\`{ command: ["program", "argument"] }\` (what it prints, within 10 seconds). It never appears in a log, an
error, or the output of a command.

A **model** is named \`provider/model\`; a bare name will do when exactly one provider has it. Each of
${BUILT_IN_PROVIDER_IDS.map((id) => `\`${id}\``).join(', ')} needs a key and nothing else. \`${OFFLINE_PROVIDER}\` comes with troupe and needs no
key and no network.`;

const toolTable = () =>
  [
    '## Names of tools',
    '',
    'What `allow`, `deny`, `allowlist` and `denylist` may hold, besides `*` for all. Any other name is refused.',
    '',
    '| group | tools |',
    '| --- | --- |',
    ...Object.entries(toolGroups).map(
      ([group, names]) =>
        `| \`group:${group}\` | ${names.map((name) => `\`${name}\``).join(', ')} |`,
    ),
    '',
    ...Object.entries(toolAliases).map(
      ([alias, tool]) => `\`${alias}\` is another name of \`${tool}\`.`,
    ),
  ].join('\n');

const example = `## Example

\`\`\`json5
{
  agents: {
    defaults: { model: 'local/qwen3-32b', timeoutSeconds: 900 },
    agents: [
      { id: 'main', default: true, purpose: 'Answers questions.' },
      { id: 'writer', model: 'anthropic/claude-opus-5-5', thinkingLevel: 'high' },
    ],
  },
  gateway: { port: 18789, auth: { mode: 'token', token: { env: 'MY_TOKEN' } } },
  models: {
    providers: {
      local: {
        baseUrl: 'http://127.0.0.1:8000/v1',
        api: 'openai-completions',
        models: [{ id: 'qwen3-32b', contextWindow: 32768, maxTokens: 4096 }],
      },
    },
  },
  runtime: { durability: 'process' },
  // read by \`troupe gateway\` and \`troupe worker\`
  nats: { url: 'nats://127.0.0.1:4222' },
}
\`\`\``;
