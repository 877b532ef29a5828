/** The files of a new plugin, by their paths in its folder. */
import { MANIFEST } from '../../agent/plugins/manifest.ts';

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export const templateFiles = (id: string): Readonly<Record<string, string>> => ({
  'package.json': json({ name: id, version: '0.1.0', private: true, type: 'module' }),
  [MANIFEST]: json({
    id,
    description: 'Greets people.',
    configSchema: {
      type: 'object',
      properties: { greeting: { type: 'string' } },
      additionalProperties: false,
    },
    tools: [
      {
        name: `${id}_greet`,
        description: 'Returns a greeting for a person.',
        parameters: {
          type: 'object',
          properties: { person: { type: 'string', description: 'name of the person' } },
          required: ['person'],
          additionalProperties: false,
        },
        class: 'repeatable',
      },
    ],
  }),
  'src/index.ts': `import { definePlugin } from 'troupe/plugin-sdk';

export default definePlugin({
  name: '${id}',
  version: '0.1.0',
  tools: [
    {
      name: '${id}_greet',
      run: ({ person }: { person: string }, { plugin }) =>
        \`\${plugin.config['greeting'] ?? 'Hello'}, \${person}!\`,
    },
  ],
});
`,
});
