/**
 * Why the program of a server could not start in a sandbox: it is installed where the sandbox does
 * not show it, for example in the home folder by nvm, pipx or `npm install --global`.
 */
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { PROGRAM_FOLDERS } from '../../protocols/sandbox/sandbox-paths.ts';
import type { Boundary } from '../sandbox/boundary.ts';

/**
 * What to do about the program, or the first argument, that exists on this machine and not in the
 * sandbox; undefined when all is visible.
 *
 * @param path the variable PATH of this process
 */
export function hiddenPath(
  [command = '', ...args]: readonly string[],
  kind: Boundary['kind'],
  path = process.env['PATH'] ?? '',
): string | undefined {
  if (kind === 'host') return undefined;
  const program = isAbsolute(command) ? command : installedAt(command, path);
  const named = [program, ...args.filter(isAbsolute)].filter((file) => file !== undefined);
  const hidden = named.find((file) => isHidden(file, kind));
  if (hidden === undefined) return undefined;
  return (
    `${hidden} exists on this machine, but the sandbox does not show it. ` +
    `${kind === 'docker' ? 'Install it in tools.exec.image' : 'Install it below /usr/local'}, put it into the server's cwd (there: /workspace), or set sandbox: false ` +
    'for this server, which gives it all your rights'
  );
}

const installedAt = (command: string, path: string): string | undefined =>
  command.includes('/')
    ? undefined
    : path
        .split(delimiter)
        .map((folder) => join(folder, command))
        .find(isExecutable);

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A link from a visible folder into a hidden one is hidden. False for what does not exist. */
function isHidden(file: string, kind: Boundary['kind']): boolean {
  try {
    const real = realpathSync(file);
    if (kind === 'docker') return true;
    return ![file, real].every((one) =>
      PROGRAM_FOLDERS.some((folder) => one.startsWith(`${folder}/`)),
    );
  } catch {
    return false;
  }
}
