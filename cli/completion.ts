/**
 * `troupe completion SHELL`: a script that completes commands, options and choices. It is made from
 * the commands of this version and calls no program while it completes.
 */
import type { Command } from 'commander';
import { exitCodes } from './exit.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** A command by the words that name it, such as ` sessions list`; '' is the program. */
type Place = { readonly path: string; readonly words: readonly Word[] };
type Word = {
  readonly text: string;
  readonly about: string;
  /** an option with a value, which may be a file */
  readonly takesValue?: boolean;
};

/** Prints the script. @param program with all its commands */
export function completion(shell: Shell, program: Command): number {
  process.stdout.write(scripts[shell](placesOf(program)));
  return exitCodes.ok;
}

const scripts: Record<Shell, (places: readonly Place[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function placesOf(command: Command, path = ''): readonly Place[] {
  const commands = command.commands.map((each) => ({
    text: each.name(),
    about: each.description(),
  }));
  const choices = command.registeredArguments
    .flatMap(({ argChoices }) => argChoices ?? [])
    .map((text) => ({ text, about: '' }));
  const options = command.options
    .filter(({ hidden, long }) => !hidden && long)
    .map(({ long, description, required, optional }) => ({
      text: long!,
      about: description,
      takesValue: required || optional,
    }));
  const help = { text: '--help', about: 'print help' };
  const inside = command.commands.flatMap((each) => placesOf(each, `${path} ${each.name()}`));
  return [{ path, words: [...commands, ...choices, ...options, help] }, ...inside];
}

/** A text as one word of bash and zsh. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Patterns of `case`: all paths below the program. */
const pathPattern = (places: readonly Place[]): string =>
  places
    .slice(1)
    .map(({ path }) => quoted(path))
    .join('|');

function bashScript(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) =>
      `    ${quoted(path)}) choices=${quoted(words.map(({ text }) => text).join(' '))} ;;\n`,
  );
  return `# Completion of troupe for bash. For each shell: source <(troupe completion bash)
_troupe() {
  local path='' choices='' word current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
    ${pathPattern(places)}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}
complete -o bashdefault -o default -F _troupe troupe
`;
}

function zshScript(places: readonly Place[]): string {
  const cases = places.map(({ path, words }) => {
    const choices = words.map(({ text, about }) =>
      quoted(about ? `${text.replaceAll(':', '\\:')}:${about}` : text),
    );
    return `    ${quoted(path)}) choices=(${choices.join(' ')}) ;;\n`;
  });
  return `#compdef troupe
# Completion of troupe for zsh. For each shell, after compinit: source <(troupe completion zsh)
_troupe() {
  local at='' word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
    ${pathPattern(places)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('')}  esac
  _describe 'troupe' choices || _files
}
compdef _troupe troupe
`;
}

/** A text as one word of fish. */
const fishQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ text, about, takesValue }) => {
      const option = `-l ${text.slice(2)}${takesValue ? ' -r -F' : ''}`;
      const what = text.startsWith('--') ? option : `-a ${fishQuoted(text)}`;
      const where = fishQuoted(`__troupe_is_at ${fishQuoted(path)}`);
      return `complete -c troupe -n ${where} ${what} -d ${fishQuoted(about)}\n`;
    }),
  );
  const paths = places.slice(1).map(({ path }) => fishQuoted(path));
  return `# Completion of troupe for fish: troupe completion fish > ~/.config/fish/completions/troupe.fish
set -g __troupe_paths ${paths.join(' ')}
function __troupe_is_at
    set -l path ''
    for word in (commandline -opc)[2..-1]
        contains -- "$path $word" $__troupe_paths; and set path "$path $word"
    end
    test "$path" = "$argv[1]"
end
complete -c troupe -f
${lines.join('')}`;
}
