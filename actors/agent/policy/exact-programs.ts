/**
 * Programs whose words are programs themselves: what they run is not seen in their name, so a
 * pattern with `*` does not cover them (SX3). After the lists of GTFOBins; a table can not be
 * complete, so docs/sandbox.md says what a `*` gives away.
 *
 * Boundary: data and one question, no parsing.
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
    'podman kubectl npx bunx uvx pipx cmd powershell pwsh osascript'
  ).split(' '),
);

/** With a script they run that script; with options, or with nothing, what anybody gives them. */
const interpreter =
  /^(?:sh|ash|bash|rbash|dash|zsh|ksh|mksh|fish|csh|tcsh|python|pypy|node|nodejs|tsx|ts-node|perl|ruby|php|lua|luajit|tclsh|wish|r|rscript|julia|guile|ghci|jshell|irb|ipython|elixir|erl|groovy|scala|swift|osh|nu|xonsh)(?:[\d.]+m?)?$/;

/**
 * Words that make a program run another one, or write where they say; long ones may be cut. Of
 * bash's own `test` and `printf`: name a variable, whose index is a command if it says so.
 */
const words: Readonly<Record<string, RegExp>> = {
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
  make: /^(?:-\w*[fCEI]|--(?:ev|fi|ma|di|in)|SHELL=)/,
  gmake: /^(?:-\w*[fCEI]|--(?:ev|fi|ma|di|in)|SHELL=)/,
  curl: /^(?:-\w*[oOKTcD]|--(?:o|rem|conf|up|create|dump|cookie-j|tr|st|et|li|hsts|alt))/,
  wget: /^(?:-\w*[OePiao]|--(?:ou|ex|use-a|po|dir|inp|app|conf|st|save|wa))/,
  npm: /^(?:-[cCg]|--(?:sc|node-o|pre|glob|userc|c)|(?:exec|x|explore|config|set|init|create)$)/,
  pnpm: /^(?:-[cCg]|--(?:sc|node-o|pre|glob|c|dir|shell)|(?:exec|dlx|config|set|create)$)/,
  yarn: /^(?:--cwd|(?:exec|dlx|config|create|node)$)/,
  bun: /^(?:-|(?:x|create|exec|repl)$)/,
  deno: /^(?:-|(?:eval|repl|install)$)/,
  go: /^(?:-exec|-toolexec|--exec|--toolexec|generate$|tool$)/,
  cargo: /^(?:--config|-C|-Z|install$)/,
};

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
  return runs !== undefined && (isOpen || args.some((arg) => runs.test(arg)));
};
