/** Section of docs/openclaw-compatibility.md: parameters that are refused, or change nothing. */
import type { TSchema } from '@sinclair/typebox';
import { GatewayMethods } from '../protocols/gateway/index.ts';

type Mark = 'x-unsupported' | 'x-no-effect';

/** A row per method and reason. */
const rowsOf = (mark: Mark): string[] => {
  const rows = new Map<string, string[]>();
  for (const [method, { params }] of Object.entries(GatewayMethods)) {
    const { properties = {} }: TSchema = params;
    for (const [name, schema] of Object.entries(properties as Record<string, TSchema>)) {
      const why: unknown = schema[mark];
      if (typeof why !== 'string') continue;
      const key = JSON.stringify([method, why]);
      rows.set(key, [...(rows.get(key) ?? []), `\`${name}\``]);
    }
  }
  return [...rows].map(([key, names]) => {
    const [method, why] = JSON.parse(key) as [string, string];
    return `| \`${method}\` | ${names.join(', ')} | ${why} |`;
  });
};

const HEAD = ['| method | parameters | why |', '| --- | --- | --- |'];

export const parameterSection = (): string =>
  [
    '## Parameters',
    '',
    'A method honours each parameter of its schema, or refuses it with `INVALID_REQUEST` and its ' +
      'name. These are refused. Empty values pass (`null`, `false`, `""`), and so do values that ' +
      'ask for what happens anyway (`channel: "webchat"`, `promptMode: "full"`):',
    '',
    ...HEAD,
    ...rowsOf('x-unsupported'),
    '',
    'These are accepted although they change nothing, since OpenClaw’s clients send them:',
    '',
    ...HEAD,
    ...rowsOf('x-no-effect'),
    '',
    'Params of `agents.*`, `config.*`, `models.*`, `skills.*`, `tools.*`, `commands.list` and of ' +
      'status methods are open: newer clients send hints there, and unknown ones are ignored.',
  ].join('\n');
