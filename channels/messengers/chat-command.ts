/**
 * Commands that people write in a messenger: `/new`, `/stop`, `/status` and the others, as in the
 * page. Everyone who may write to the account may send them.
 */
import type { BeforeCommand, PrepareInput } from '../../protocols/channel-effects.ts';
import { errorData } from '../../protocols/errors.ts';
import type { System } from '../../runtime/index.ts';
import { type CommandContext, executeCommand } from '../commands/execute.ts';
import { readCommand } from '../commands/parse.ts';

export type ChatCommandParts = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly models: (agentId: string) => Pick<CommandContext, 'model' | 'models'>;
  readonly before: BeforeCommand;
};

/** A message that may be a command: `chatCommand` decides. */
export const mayBeCommand = (text: string): boolean => text.trimStart().startsWith('/');

/** In groups of Telegram, a command names its bot: `/new@helper_bot`. */
const BOT_NAME = /^(\s*\/[a-z]+)@\w+/i;

/** The answer; undefined: the text is no command. Never throws. */
export async function chatCommand(
  { tenant, channel, account, message, route }: PrepareInput,
  { system, models, before }: ChatCommandParts,
): Promise<string | undefined> {
  const { text, chat, mentionsAccount, sender, key } = message;
  const isForAccount = chat.kind === 'dm' || mentionsAccount;
  const read = readCommand(isForAccount ? text.replace(BOT_NAME, '$1') : text);
  if (read.kind === 'text') return undefined;
  if (read.kind === 'wrong') return read.text;
  const { agentId, sessionKey } = route;
  try {
    const hooked = await before({ name: read.command.name, args: read.args });
    const place = {
      system,
      tenant,
      agentId,
      sessionKey,
      principal: { sub: `${channel}:${sender.id}`, roles: [] },
      key: `${channel}:${account}:${key}`,
      ...models(agentId),
    };
    const answer = await executeCommand(place, read.command);
    return hooked?.reply ? `${answer}\n\n${hooked.reply}` : answer;
  } catch (error) {
    return `/${read.command.name} failed: ${errorData(error).message}`;
  }
}
