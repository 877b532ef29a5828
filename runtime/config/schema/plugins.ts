/** The section `plugins` of the configuration: code of others, each in a process of its own. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Loaded, secret, section } from './fields.ts';

const paths = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { default: [], description });
const granted = (description: string) => Type.Boolean({ default: false, description });

const plugin = section('one plugin', {
  enabled: Type.Boolean({ default: false, description: 'whether it runs' }),
  config: Type.Record(
    Type.String(),
    Type.Unknown({ description: 'one setting', 'x-allowed': 'any JSON' }),
    {
      default: {},
      description: 'its settings, as the `configSchema` of its manifest allows',
    },
  ),
  secrets: Type.Record(
    Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$' }),
    secret('a value'),
    {
      default: {},
      additionalProperties: false,
      description: 'the secrets that its manifest names; it receives no others',
    },
  ),
  permissions: section('what it may do beside the network; its manifest has to ask for it', {
    read: paths('files and folders that it may read'),
    write: paths('files and folders that it may change'),
    childProcesses: granted('whether it may start programs, which nothing confines'),
    workers: granted('whether it may start threads'),
    addons: granted('whether it may load native code, which nothing confines'),
  }),
  memoryMb: Type.Integer({
    minimum: 16,
    maximum: 65_536,
    default: 256,
    description: 'memory that it may use, MiB; its process ends when it uses more',
  }),
});

/** The entry of a plugin that the configuration does not name. */
export const defaultPlugin = Value.Default(plugin, {}) as Loaded<typeof plugin>;

export const pluginsSection = section(
  'code of others: tools, hooks, model providers and channels',
  {
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'folder with a folder for each plugin. Default: `extensions` in the data folder',
      }),
    ),
    entries: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }), plugin, {
      default: {},
      additionalProperties: false,
      description: 'by the id of the plugin; a plugin without an entry does not run',
    }),
  },
);
