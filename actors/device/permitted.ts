/** Why a node may not receive a command now, and the remedy. */
import type { ErrorData } from '../../protocols/errors.ts';
import type { DeviceContext, NodeFacts } from './types.ts';

const COMMANDS_SHOWN_MAX = 20;

/** The error for a command that the node may not receive; undefined if it may. */
export const refusalOf = (context: DeviceContext, command: string): ErrorData | undefined => {
  const { deviceId, node, roles } = context;
  if (roles.node === undefined || node === null) {
    return {
      code: 'NOT_FOUND',
      message: `device ${deviceId} offers no commands: it is not connected as a node`,
    };
  }
  return (
    reserved(command) ??
    unoffered(node, command) ??
    unapproved(node, command) ??
    denied(node, command) ??
    away(context)
  );
};

/**
 * Commands that determine what a node host of OpenClaw may run without approval. A caller that may
 * invoke commands could grant itself everything, so only the owner of the machine may set them
 * there.
 */
const reserved = (command: string): ErrorData | undefined =>
  command.startsWith('system.execApprovals.')
    ? {
        code: 'FORBIDDEN',
        message: `${command} is never invoked: what a node runs without asking is set on the node`,
      }
    : undefined;

const unoffered = ({ surface }: NodeFacts, command: string): ErrorData | undefined => {
  const names = surface.commands.map(({ name }) => name);
  if (names.includes(command)) return undefined;
  const shown = names.slice(0, COMMANDS_SHOWN_MAX).join(', ') || 'none';
  return { code: 'NOT_FOUND', message: `the node has no command ${command}; it offers ${shown}` };
};

const unapproved = ({ approved, request }: NodeFacts, command: string): ErrorData | undefined => {
  if (approved.includes(command)) return undefined;
  const remedy = request
    ? `let it with \`troupe nodes approve ${request.requestId}\``
    : 'connect the node again and approve what it offers';
  return { code: 'FORBIDDEN', message: `${command} requires approval: ${remedy}` };
};

/** The capability of a command: the first part of its name, with one exception in OpenClaw. */
const capabilityOf = (command: string): string =>
  command === 'system.notify' ? 'notifications' : command.split('.', 1)[0]!;

const denied = ({ surface }: NodeFacts, command: string): ErrorData | undefined => {
  const capability = capabilityOf(command);
  if (surface.permissions[capability] !== 'denied') return undefined;
  return {
    code: 'FORBIDDEN',
    message: `the device does not permit ${capability}: allow it there, then connect the node again`,
    details: { permission: capability },
  };
};

const away = ({ node, deviceId }: DeviceContext): ErrorData | undefined =>
  node?.link
    ? undefined
    : {
        code: 'UNAVAILABLE',
        message: `device ${deviceId} is away: try again when it is connected`,
        details: { outcome: 'none' },
      };
