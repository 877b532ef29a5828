/**
 * `nodes` and `canvas`: how an agent uses paired devices: list them, describe their commands,
 * invoke a command, and show content on a device's canvas.
 *
 * The device actor decides which commands may be invoked, and the device asks its user where
 * necessary. A command has the call's key, so a repeated call gets the first answer.
 */
import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { IMAGE_BYTES_MAX, IMAGE_TYPES, type ImagePart } from '../../../protocols/content.ts';
import { defined } from '../../../protocols/defined.ts';
import {
  deviceAddress,
  type DeviceRow,
  DEVICES_INDEX,
  INVOKE_MS_DEFAULT,
  INVOKE_MS_MAX,
  type InvocationDone,
  PARAMS_CHARACTERS_MAX,
  type Payload,
} from '../../../protocols/device.ts';
import { schemaComplaint } from '../../../runtime/index.ts';
import { fromOutside } from '../web/net/outside.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tool.ts';
import type { SecretMask } from '../secret-mask.ts';

export type NodeToolsOptions = {
  /** reads a file of the tenant by its SHA-256: a large answer of a device */
  readonly file: (tenant: string, hash: string) => Promise<string>;
};

const NODES_READ_MAX = 1_000;
const NODES_SHOWN_MAX = 50;
const ANSWER_CHARACTERS_MAX = 48 * 1024;
/** Additional wait for the actor's answer, which may arrive after the device's timeout. */
const GRACE_MS = 5_000;

const Node = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'name or id of the device, as the action list shows it',
});
const Parameters = Type.Object(
  {
    action: Type.Union(
      ['list', 'describe', 'invoke'].map((action) => Type.Literal(action)),
      {
        description:
          'list: the devices. describe: the commands of one device and their parameters. invoke: run a command of a device.',
      },
    ),
    node: Type.Optional(Node),
    command: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'as camera.snap' }),
    ),
    params: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'parameters of the command' }),
    ),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: INVOKE_MS_MAX / 1_000 })),
  },
  { additionalProperties: false },
);

const CanvasParameters = Type.Object(
  {
    node: Type.Optional(Node),
    html: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200_000, description: 'a complete document' }),
    ),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 200_000 })),
    url: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
    title: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: false },
);

export const createNodeTools = (options: NodeToolsOptions): readonly Tool[] => [
  defineTool({
    name: 'nodes',
    groups: ['automation'],
    description:
      'Approved devices (machines, phones, browser pages): lists them, or runs a command of a device, such as camera.snap, location.get, system.notify or system.run.',
    parameters: Parameters,
    class: 'keyed',
    parallel: true,
    timeoutMs: INVOKE_MS_MAX + 2 * GRACE_MS,
    async run({ action, node, command, params = {}, timeoutSeconds }, context) {
      const rows = await nodesOf(context);
      if (action === 'list') return { text: listed(rows) };
      const row = oneOf(rows, node);
      if (typeof row === 'string') return failure(row);
      if (action === 'describe') return { text: fromOutside(nameOf(row), described(row)) };
      if (command === undefined)
        return failure('invoke requires `command`: the action describe lists the commands');
      const timeoutMs = timeoutSeconds === undefined ? INVOKE_MS_DEFAULT : timeoutSeconds * 1_000;
      return invoke(row, { command, params, timeoutMs }, context, options);
    },
  }),
  defineTool({
    name: 'canvas',
    groups: ['ui'],
    description:
      'Shows content on the canvas of a device: an HTML document, text, or a page by its URL.',
    parameters: CanvasParameters,
    class: 'keyed',
    parallel: false,
    async run({ node, ...params }, context) {
      if ([params.html, params.text, params.url].filter((one) => one !== undefined).length !== 1)
        return failure('pass exactly one of `html`, `text` and `url`');
      const rows = (await nodesOf(context)).filter(offers('canvas.push'));
      const row = oneOf(rows, node);
      if (typeof row === 'string') return failure(`${row} (of those with a canvas)`);
      const wish = { command: 'canvas.push', params, timeoutMs: INVOKE_MS_DEFAULT };
      return invoke(row, wish, context, options);
    },
  }),
];

const failure = (text: string): ToolResult => ({ text, isError: true });

const offers =
  (command: string) =>
  ({ node }: DeviceRow): boolean =>
    node?.approved.includes(command) ?? false;

const nodesOf = async ({ system, tenant }: ToolContext): Promise<readonly DeviceRow[]> =>
  (await system.index())
    .list<DeviceRow>(DEVICES_INDEX, tenant, { limit: NODES_READ_MAX })
    .map(({ value }) => value)
    .filter(({ roles, node }) => roles.node !== undefined && node !== undefined);

const nameOf = ({ name, face, deviceId }: DeviceRow): string =>
  name ?? face.name ?? deviceId.slice(0, 12);

/** A string explains what is wrong with the name. */
const oneOf = (rows: readonly DeviceRow[], given: string | undefined): DeviceRow | string => {
  const here = rows.filter(({ node }) => node?.link !== undefined);
  if (given === undefined) {
    if (here.length === 1) return here[0]!;
    return `${here.length} devices are connected: name one with \`node\`; the action list shows them`;
  }
  const wanted = given.toLowerCase();
  const named = rows.filter((row) => nameOf(row).toLowerCase() === wanted);
  const fits = named.length > 0 ? named : rows.filter(({ deviceId }) => deviceId.startsWith(given));
  if (fits.length === 1) return fits[0]!;
  return fits.length === 0
    ? `there is no device ${JSON.stringify(given)}: the action list shows the devices`
    : `${fits.length} devices have the name ${JSON.stringify(given)}: use the id`;
};

const listed = (rows: readonly DeviceRow[]): string => {
  if (rows.length === 0) return 'No device is approved as a node.';
  const lines = rows.slice(0, NODES_SHOWN_MAX).map((row) => {
    const { deviceId, face, node } = row;
    const state = node?.link === undefined ? 'away' : 'connected';
    const commands = node?.approved.join(', ') || 'nothing is approved';
    return `${nameOf(row)} (${deviceId.slice(0, 12)}, ${face.platform ?? 'unknown'}): ${state}; ${commands}`;
  });
  const more = rows.length - lines.length;
  return fromOutside('devices', [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
};

const described = ({ deviceId, face, node }: DeviceRow): string => {
  const { surface, approved, link } = node!;
  const commands = surface.commands.map(({ name, description, params }) => ({
    name,
    approved: approved.includes(name),
    ...defined({ description, params }),
  }));
  const { permissions, caps } = surface;
  const shown = { deviceId, ...face, connected: link !== undefined, caps, permissions, commands };
  return JSON.stringify(shown, undefined, 1);
};

type Wish = {
  readonly command: string;
  readonly params: object;
  readonly timeoutMs: number;
};

const invoke = async (
  row: DeviceRow,
  { command, params, timeoutMs }: Wish,
  { system, tenant, idempotencyKey, sessionKey, secrets }: ToolContext,
  { file }: NodeToolsOptions,
): Promise<ToolResult> => {
  const schema = row.node?.surface.commands.find(({ name }) => name === command)?.params;
  const wrong = schema && (await schemaComplaint(schema, params));
  if (wrong !== undefined) return failure(`\`params\` of ${command}: ${wrong}`);
  const paramsJson = JSON.stringify(params);
  if (paramsJson.length > PARAMS_CHARACTERS_MAX)
    return failure(`\`params\` may have ${PARAMS_CHARACTERS_MAX} characters as JSON`);
  const id = `call-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40)}`;
  const answer = await system.ask(
    deviceAddress(tenant, row.deviceId),
    { type: 'device.invoke', id, command, paramsJson, timeoutMs, sessionKey },
    { key: idempotencyKey, timeoutMs: timeoutMs + GRACE_MS },
  );
  if (answer.kind === 'timeout')
    return failure(`${nameOf(row)} has not answered ${command}: its outcome is unknown`);
  if (answer.kind === 'refused') {
    const { message, details } = answer.error;
    const outcome = details?.['outcome'] === 'unknown' ? ' It may have been executed.' : '';
    return failure(`${command} failed: ${message}.${outcome}`);
  }
  const { payload } = answer.result as InvocationDone;
  const text = await textOf(payload, tenant, file);
  return shown(`${command} of ${nameOf(row)}`, text, secrets);
};

const textOf = (
  payload: Payload | null,
  tenant: string,
  file: NodeToolsOptions['file'],
): Promise<string> => {
  if (payload === null) return Promise.resolve('null');
  return 'json' in payload ? Promise.resolve(payload.json) : file(tenant, payload.file);
};

/** Returns a picture as an image and removes its base64 from the text. */
const shown = (what: string, json: string, secrets: SecretMask): ToolResult => {
  const value = JSON.parse(json) as unknown;
  const image = imageIn(value);
  if (image !== undefined) {
    const { base64: _, ...rest } = value as Record<string, unknown>;
    return { text: fromOutside(what, JSON.stringify(rest)), images: [image] };
  }
  const text = secrets.text(json);
  const cut =
    text.length > ANSWER_CHARACTERS_MAX
      ? `${text.slice(0, ANSWER_CHARACTERS_MAX)}\n[${text.length - ANSWER_CHARACTERS_MAX} characters are left out]`
      : text;
  return { text: fromOutside(what, cut) };
};

/** `{ format, base64 }` of a picture in a supported format. */
const imageIn = (value: unknown): ImagePart | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  const { format, base64 } = value as { format?: unknown; base64?: unknown };
  if (typeof format !== 'string' || typeof base64 !== 'string') return undefined;
  const name = format.toLowerCase() === 'jpg' ? 'jpeg' : format.toLowerCase();
  const mimeType = IMAGE_TYPES.find((type) => type === `image/${name}`);
  const isFit = base64.length <= Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 4;
  return mimeType !== undefined && isFit ? { mimeType, data: base64 } : undefined;
};
