/** Slash commands: a list that completes one while it is typed, and refuses unknown ones. */
import { useEffect, useState } from 'preact/hooks';
import { strings } from '../strings.ts';

/** The fields of an entry of `commands.list` that the page uses. */
export type Command = {
  readonly name: string;
  readonly description: string;
  readonly textAliases: readonly string[];
  readonly acceptsArgs: boolean;
};

const SHOWN_MAX = 8;

const namesOf = ({ name, textAliases }: Command): readonly string[] => [`/${name}`, ...textAliases];

/**
 * The first word if it looks like a command and is none; a path such as `/etc/hosts` is text.
 * Without a list nothing is unknown.
 */
export const unknownCommandIn = (
  text: string,
  commands: readonly Command[],
): string | undefined => {
  const word = /^\/[a-z][a-z_-]*(?=\s|$)/.exec(text.trim())?.[0];
  if (word === undefined || commands.length === 0) return undefined;
  return commands.some((command) => namesOf(command).includes(word)) ? undefined : word;
};

export type Slash = {
  readonly found: readonly Command[];
  readonly at: number;
  choose(this: void, command: Command): void;
  /** whether the key was used */
  onKeyDown(this: void, event: KeyboardEvent): boolean;
};

export const useSlash = (
  text: string,
  commands: readonly Command[],
  onText: (text: string) => void,
): Slash => {
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState('');
  const typed = /^\/[a-z_-]*$/.test(text) && text !== closed ? text : undefined;
  const found =
    typed === undefined
      ? []
      : commands
          .filter((command) => namesOf(command).some((name) => name.startsWith(typed)))
          .slice(0, SHOWN_MAX);
  useEffect(() => setAt(0), [typed]);
  const choose = ({ name, acceptsArgs }: Command) => {
    const line = `/${name}${acceptsArgs ? ' ' : ''}`;
    setClosed(line);
    onText(line);
  };
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = found[at];
    if (chosen === undefined || event.isComposing) return false;
    const isWhole = `/${chosen.name}` === text;
    if (step !== undefined) setAt((at + step + found.length) % found.length);
    else if (event.key === 'Escape') setClosed(text);
    else if (event.key === 'Tab' || (event.key === 'Enter' && !isWhole)) choose(chosen);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return { found, at, choose, onKeyDown };
};

export const CommandList = ({ slash }: { slash: Slash }) =>
  slash.found.length === 0 ? null : (
    <ul id="commands" class="commands-list" role="listbox" aria-label={strings.commands}>
      {slash.found.map((command, at) => (
        <li
          key={command.name}
          id={`command-${at}`}
          role="option"
          aria-selected={at === slash.at}
          onMouseDown={(event) => {
            // The message field keeps the focus.
            event.preventDefault();
            slash.choose(command);
          }}
        >
          <code>/{command.name}</code> <span>{command.description}</span>
        </li>
      ))}
    </ul>
  );
