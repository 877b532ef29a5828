/**
 * `system.notify`: shows a desktop notification with `notify-send`. Without that program or a
 * desktop it prints a line where the node runs. The answer says which.
 */
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { Type } from '@sinclair/typebox';
import { TroupeError } from '../../protocols/errors.ts';
import { defineCommand, type HostCommand } from './command.ts';

const NOTIFY_MS = 10_000;

export const notifyCommand = (print: (line: string) => void): HostCommand =>
  defineCommand({
    name: 'system.notify',
    description: 'Shows a notification: `title`, `body`.',
    params: Type.Object({
      title: Type.Optional(Type.String({ maxLength: 200 })),
      body: Type.Optional(Type.String({ maxLength: 4_000 })),
    }),
    async run({ title = '', body = '' }) {
      if (title === '' && body === '')
        throw new TroupeError('INVALID_ARGUMENT', 'set /title or /body');
      const words = [title || body, ...(title && body ? [body] : [])];
      if (await shown(words)) return { shown: 'notify-send' };
      print(`notification: ${stripVTControlCharacters(words.join(': ')).replaceAll(/\s+/g, ' ')}`);
      return { shown: 'printed' };
    },
  });

/** False without the program or without a desktop. */
const shown = (words: readonly string[]): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn('notify-send', ['--', ...words], { stdio: 'ignore', timeout: NOTIFY_MS });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
