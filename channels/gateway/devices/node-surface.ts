/** What a node declares in the handshake, in the form that its device actor stores. Pure. */
import {
  type DeviceFace,
  type NodeCommand,
  NodeCommandSchema,
  type NodeSurface,
  type Permission,
  SURFACE_CHARACTERS_MAX,
} from '../../../protocols/device.ts';
import {
  checkNodeClaims,
  type ConnectParams,
  type NodeClaims,
} from '../../../protocols/gateway/index.ts';
import { plainName } from '../../../protocols/plain-text.ts';

const COMMAND = new RegExp(NodeCommandSchema.properties.name.pattern!);
const COMMANDS_MAX = 200;
const CAPS_MAX = 64;
const WORD_CHARACTERS_MAX = 200;
/**
 * Limit for all commands with their schemas; the rest of a surface is much smaller than the
 * remaining space.
 */
const COMMANDS_CHARACTERS_MAX = SURFACE_CHARACTERS_MAX - 32_768;

/**
 * Caps, commands and permissions of `connect`. Invalid names and excess entries are dropped, so
 * such a command of a third-party client cannot be invoked.
 */
export const surfaceOf = (params: ConnectParams): NodeSurface => {
  const claims = claimsOf(params);
  const names = [...new Set(params.commands)].filter((name) => COMMAND.test(name));
  return {
    caps: [...new Set(params.caps)]
      .filter(({ length }) => length <= WORD_CHARACTERS_MAX)
      .slice(0, CAPS_MAX),
    commands: fitting(names.slice(0, COMMANDS_MAX).map((name) => commandOf(name, claims))),
    permissions: permissionsOf(params, claims),
    ...(params.pathEnv === undefined ? {} : { pathEnv: params.pathEnv.slice(0, 4_096) }),
  };
};

export const replaysOf = (params: ConnectParams): boolean => claimsOf(params).replays === true;

/** The node's face for users: texts are cleaned for display and truncated. */
export const faceOf = ({ client }: ConnectParams, ip: string): DeviceFace => {
  const short = (text: string | undefined, most: number) =>
    text === undefined ? undefined : plainName(text, most) || undefined;
  const face = {
    name: short(client.displayName, 120),
    clientId: short(client.id, 64),
    clientMode: short(client.mode, 32),
    version: short(client.version, 64),
    platform: short(client.platform, 64),
    deviceFamily: short(client.deviceFamily, 64),
    modelIdentifier: short(client.modelIdentifier, 64),
    ip: short(ip, 64),
  };
  return Object.fromEntries(Object.entries(face).filter(([, value]) => value !== undefined));
};

const commandOf = (name: string, { commands }: NodeClaims): NodeCommand => {
  const claim = commands?.[name];
  return {
    name,
    ...(claim?.params === undefined ? {} : { params: claim.params }),
    ...(claim?.description === undefined ? {} : { description: claim.description }),
  };
};

/** The first commands that fit. A command is never stored without its declared schema. */
const fitting = (commands: readonly NodeCommand[]): NodeCommand[] => {
  let left = COMMANDS_CHARACTERS_MAX;
  return commands.filter((command) => {
    const { length } = JSON.stringify(command);
    if (length > left) return false;
    left -= length + 1;
    return true;
  });
};

const permissionsOf = (
  { permissions = {} }: ConnectParams,
  claims: NodeClaims,
): Record<string, Permission> => {
  const said = Object.entries(permissions).map(([name, granted]): [string, Permission] => [
    name,
    granted ? 'granted' : 'denied',
  ]);
  const all = [...said, ...Object.entries(claims.permissions ?? {})];
  return Object.fromEntries(all.filter(([name]) => name !== '' && name.length <= 64).slice(0, 100));
};

/** Reads troupe's extension fields; an invalid value counts as absent. */
const claimsOf = (params: ConnectParams): NodeClaims => {
  const { troupe } = params as { readonly troupe?: unknown };
  const checked = troupe === undefined ? undefined : checkNodeClaims(troupe);
  return checked?.ok ? checked.value : {};
};
