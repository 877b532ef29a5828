/**
 * What a `*` in a pattern grants a program. Words of a command can name another program to run, as
 * `split --filter=COMMAND` and `npm run env -- COMMAND` do, and a person who wrote `split *` did
 * not mean that. After the lists of GTFOBins; since no list is complete, a program that is not in
 * it is granted operands, and no options.
 *
 * Boundary: data and two questions, no parsing.
 */

/**
 * Words of the shell that change what later words mean, or begin a compound command. No pattern
 * matches them.
 */
const never = new Set(
  (
    'if then else elif fi do done case esac while until for select function time coproc in ' +
    'alias unalias eval source . exec command builtin export declare typeset readonly local ' +
    'set unset shopt hash enable trap bind complete let  mapfile readarray read ' +
    'pushd popd umask ulimit getopts fc history exit return break continue shift ' +
    'wait jobs compgen compopt'
  ).split(' '),
);

/** They run what they are told, in whatever form. */
const always = new Set(
  (
    'sudo doas su runuser env xargs parallel nohup nice ionice timeout stdbuf setsid setpriv chroot ' +
    'unshare nsenter busybox toybox script flock strace ltrace gdb lldb watch at batch crontab ' +
    'systemd-run ssh scp sftp rsync sed awk gawk mawk nawk vi vim nvim view ex ed emacs nano less ' +
    'more man socat nc ncat netcat telnet openssl expect screen tmux entr capsh chrt taskset ' +
    'start-stop-daemon dbus-run-session xvfb-run unbuffer rlwrap proot fakeroot pkexec bwrap docker ' +
    'podman kubectl npx bunx uvx pipx cmd powershell pwsh osascript ' +
    // These run what an operand, or a line of their input, says.
    'yarn pnpm bun sqlite3 psql mysql mariadb mongosh duckdb dc m4 ftp lftp gnuplot octave mail mutt ' +
    'journalctl systemctl apt apt-get dpkg rpm install'
  ).split(' '),
);

/** With a script they run that script; with options, or with nothing, what anybody gives them. */
const interpreter =
  /^(?:sh|ash|bash|rbash|dash|zsh|ksh|mksh|fish|csh|tcsh|python|pypy|node|nodejs|tsx|ts-node|perl|ruby|php|lua|luajit|tclsh|wish|r|rscript|julia|guile|ghci|jshell|irb|ipython|elixir|erl|groovy|scala|swift|osh|nu|xonsh)(?:[\d.]+m?)?$/;

/**
 * Words that make a program run another one, or write where they say; long ones may be cut. Of
 * bash's own `test` and `printf`: name a variable, whose index is a command if it says so.
 */
const words: Readonly<Record<string, RegExp | ((args: readonly string[]) => boolean)>> = {
  test: /^-[vR]/,
  printf: /^-v/,
  find: /^-(?:exec|ok|delete|fprint|fls)/,
  fd: /^(?:-\w*[xX]|--exec)/,
  rg: /^--(?:pre|hostname-bin)/,
  tar: /^(?:-?[a-zA-Z]*[IF]|--(?:ch|to|us|in|ne|rs|rm|i))/,
  bsdtar: /^(?:-?[a-zA-Z]*[IF]|--(?:ch|to|us))/,
  git: /^(?:-\w*[cCxOu]|--(?:conf|ex|git-dir|work-tree|upl|rec|op|o)|(?:bisect|submodule|filter-branch|difftool|mergetool|config|hook|daemon|send-email|instaweb|help|maintenance)$)/,
  zip: /^(?:-\w*T|--unz|--te)/,
  sort: /^(?:-\w*[oT]|--(?:com|o|te))/,
  // A variable such as CC names a program.
  make: /^(?:-\w*[fCEI]|--(?:ev|fi|ma|di|in)|[\w.-]+[:+?!]*=)/,
  gmake: /^(?:-\w*[fCEI]|--(?:ev|fi|ma|di|in)|[\w.-]+[:+?!]*=)/,
  curl: /^(?:-\w*[oOKTcD]|--(?:o|rem|conf|up|create|dump|cookie-j|tr|st|et|li|hsts|alt))/,
  wget: /^(?:-\w*[OePiao]|--(?:ou|ex|use-a|po|dir|inp|app|conf|st|save|wa))/,
  npm: npmRuns,
  split: /^--f/,
  deno: /^(?:-|(?:eval|repl|install)$)/,
  go: /^(?:-|(?:generate|tool|run)$)/,
  cargo: /^(?:--config|-C|-Z|(?:install|run)$)/,
};

/**
 * `npm run SCRIPT` and nothing after it: further words are arguments of a program that nobody knows
 * here, and the script `env`, which every package has, runs them.
 */
function npmRuns(args: readonly string[]): boolean {
  const [command = '', script = '', ...more] = args;
  if (/^(?:run|run-script|rum|urn)$/.test(command))
    return script === 'env' || script.startsWith('-') || more.length > 0;
  if (/^(?:test|tst|t|start|stop|restart)$/.test(command)) return script !== '';
  return args.some((arg) => NPM_WORDS.test(arg));
}
const NPM_WORDS =
  /^(?:-|(?:exec|x|explore|config|c|set|init|create|innit|edit|pkg|run|rum|urn|test|tst|t)$)/;

/** Looked through: none of their options runs a program. */
const harmless = new Set(
  (
    'ls cat echo head tail wc grep egrep fgrep diff cmp stat file du df pwd date basename dirname ' +
    'realpath readlink tr cut uniq nl tac rev seq true false uname whoami id printenv ps uptime free ' +
    'sleep md5sum sha1sum sha256sum sha512sum cksum sum comm paste fold fmt expand unexpand od ' +
    'hexdump strings base64 tee touch mkdir rmdir cp mv ln rm chmod jq which column join tsort'
  ).split(' '),
);

const baseName = (program: string): string => program.slice(program.lastIndexOf('/') + 1);

/** No pattern may match it. */
export const isNeverMatched = (program: string): boolean => never.has(program);

/**
 * Only a pattern without `*` may match it. `isOpen`: the shell may make any word at all of one of
 * the words, an option too.
 */
export const needsExactPattern = (
  program: string,
  args: readonly string[],
  isOpen = false,
): boolean => {
  const name = baseName(program).toLowerCase();
  if (always.has(name)) return true;
  if (interpreter.test(name)) return isOpen || /^(?:$|[-+])/.test(args[0] ?? '');
  const runs = Object.hasOwn(words, name) ? words[name] : undefined;
  if (runs === undefined) return false;
  return isOpen || (runs instanceof RegExp ? args.some((arg) => runs.test(arg)) : runs(args));
};

/**
 * Whether a `*` may stand for these words: not for options of a program that is not in the tables,
 * nor for `@file`, which some read as options, nor where the shell may make an option (`isOpen`).
 */
export const mayStandFor = (program: string, free: readonly string[], isOpen: boolean): boolean => {
  const name = baseName(program).toLowerCase();
  if (harmless.has(name) || Object.hasOwn(words, name) || interpreter.test(name)) return true;
  return !isOpen && !free.some((word) => /^[-+@]/.test(word));
};
