/** Section of docs/openclaw-compatibility.md: refused parameters, and those without effect. */
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
    'A method supports each parameter of its schema, or refuses it with `INVALID_REQUEST` and its ' +
      'name. The following parameters are refused. Empty values (`null`, `false`, `""`) are ' +
      'accepted, and so are values that match the only behaviour (`channel: "webchat"`, ' +
      '`promptMode: "full"`):',
    '',
    ...HEAD,
    ...rowsOf('x-unsupported'),
    '',
    'These are accepted without effect, because OpenClaw’s clients send them:',
    '',
    ...HEAD,
    ...rowsOf('x-no-effect'),
    '',
    'Unknown parameters of `agents.*`, `config.*`, `models.*`, `skills.*`, `tools.*`, ' +
      '`commands.list` and of status methods are ignored: newer clients send hints there.',
  ].join('\n');
