/**
 * The configuration file that `troupe config init` writes: each section with what it is for and the
 * defaults of its plain keys as comments, so that the file changes nothing until it is edited.
 */
import type { TProperties, TSchema } from '@sinclair/typebox';
import { childSchemas } from './schema/fields.ts';
import { loadedSchema } from './schema/schema.ts';

/** Name of the JSON Schema beside the file, which editors read. */
export const SCHEMA_FILE_NAME = 'troupe.schema.json';

/** JSON5. It is valid, and equal to no configuration. */
export function initialConfig(): string {
  const sections = Object.entries(loadedSchema.properties as TProperties).map(sectionText);
  return `// The configuration of troupe. A commented line shows a key and its default: remove the // to
// change it. More keys: troupe config reference. Mistakes: troupe config check.
// A secret is better a reference than a text: { env: "NAME" }, { file: "path" } or
// { command: ["program", "argument"] }.
{
  $schema: './${SCHEMA_FILE_NAME}',
${sections.join('')}}
`;
}

function sectionText([key, schema]: [string, TSchema]): string {
  const keys = childSchemas(schema).filter(([name]) => name !== '*' && name !== '[]');
  const lines = keys.flatMap(([name, child]) => keyLines(name, child));
  return `\n  // ${schema.description}\n  ${key}: {\n${lines.join('')}  },\n`;
}

/** A key with a plain default; sections within sections are only named. */
function keyLines(name: string, { description = '', default: standard }: TSchema): string[] {
  const isSection = typeof standard === 'object' && !Array.isArray(standard);
  const value = standard === undefined || isSection ? '…' : JSON.stringify(standard);
  return [`    // ${name}: ${value}, // ${description}\n`];
}
