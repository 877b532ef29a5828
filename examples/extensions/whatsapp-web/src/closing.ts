/** Why a connection to WhatsApp ended, and what an operator reads about it. */
import type { ConnectionEnd } from 'troupe/plugin-sdk';
import { statusOf } from './outcomes.ts';

export type Close = { readonly status: number | undefined; readonly message: string };

const LOGGED_OUT = 401;
const RESTART = 515;

/** @param error what Baileys says; undefined: the connection was no longer wanted */
export const closeOf = (error: unknown): Close => ({
  status: statusOf(error),
  message: error instanceof Error ? error.message : 'the connection was closed',
});

export const isLoggedOut = ({ status }: Close): boolean => status === LOGGED_OUT;
/** WhatsApp asks for a new connection at once, such as after linking. */
export const asksForRestart = ({ status }: Close): boolean => status === RESTART;

/** What another attempt would not change. `COMMAND` is replaced by the command that tries again. */
const FINAL: Readonly<Record<number, string>> = {
  [LOGGED_OUT]: 'WhatsApp has removed this device. To link it again, run COMMAND',
  403: 'WhatsApp refuses this number: look into WhatsApp on the phone whether it is banned. Then run COMMAND',
  405: 'WhatsApp refuses this version of Baileys: install a newer one in the folder of the plugin. Then run COMMAND',
  411: 'WhatsApp on the phone is too old to link devices: update it. Then run COMMAND',
  440: 'another program uses this link. End it, then run COMMAND',
};

export const restartCommand = (account: string): string =>
  `troupe channels restart whatsapp-web:${account}`;

export function connectionEnd({ status, message }: Close, account: string): ConnectionEnd {
  const text = status === undefined ? undefined : FINAL[status];
  if (text === undefined) return { error: `the connection to WhatsApp ended: ${message}` };
  return { error: text.replace('COMMAND', restartCommand(account)), isFinal: true };
}
