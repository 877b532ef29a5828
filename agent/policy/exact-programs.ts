/**
 * Limits what a `*` in a pattern allows a program. An argument can name another program to run, as
 * in `split --filter=COMMAND` and `npm run env -- COMMAND`, and the author of `split *` did not
 * intend that. The tables follow GTFOBins. No list is complete, so a program that is not in the
 * tables may get operands but no options.
 *
 * Boundary: data and two predicates, no parsing.
 */

/**
 * Words of the shell that change the meaning of later words or start a compound command. No pattern
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

/** These run any code or command in their arguments or input. */
const always = new Set(
  (
    'sudo doas su runuser env xargs parallel nohup nice ionice timeout stdbuf setsid setpriv chroot ' +
    'unshare nsenter busybox toybox script flock strace ltrace gdb lldb watch at batch crontab ' +
    'systemd-run ssh scp sftp rsync sed awk gawk mawk nawk vi vim nvim view ex ed emacs nano less ' +
    'more man socat nc ncat netcat telnet openssl expect screen tmux entr capsh chrt taskset ' +
    'start-stop-daemon dbus-run-session xvfb-run unbuffer rlwrap proot fakeroot pkexec bwrap docker ' +
    'podman kubectl npx bunx uvx pipx cmd powershell pwsh osascript ' +
    // These run commands named in an operand or in a line of their input.
    'yarn pnpm bun sqlite3 psql mysql mariadb mongosh duckdb dc m4 ftp lftp gnuplot octave mail mutt ' +
    'journalctl systemctl apt apt-get dpkg rpm install pip gem bundle composer poetry pipenv uv conda ' +
    'mamba rustup rbenv pyenv asdf mise direnv nix nix-shell lerna java dotnet ip lxc machinectl ' +
    // These run their operands.
    'time setarch linux32 linux64 i386 x86_64 uname26 prlimit choom uclampset coresched pipesz ' +
    'numactl cpulimit eatmydata faketime perf valgrind hyperfine run-parts logsave ssh-agent sshpass ' +
    'sg gosu su-exec chpst cgexec aa-exec firejail torsocks torify proxychains proxychains4 ' +
    'dumb-init tini catatonit chronic ifne pee mispipe sem pdsh nodemon concurrently cross-env ' +
    'cross-env-shell dotenv env-cmd pm2 npm-run-all xdg-open systemd-inhibit systemd-cat'
  ).split(' '),
);

/**
 * With a script operand they run that script; with options or without operands they run arbitrary
 * code.
 */
const interpreter =
  /^(?:sh|ash|bash|rbash|dash|zsh|ksh|mksh|fish|csh|tcsh|python|pypy|node|nodejs|tsx|ts-node|perl|ruby|php|lua|luajit|tclsh|wish|r|rscript|julia|guile|ghci|jshell|irb|ipython|elixir|erl|groovy|scala|swift|osh|nu|xonsh)(?:[\d.]+m?)?$/;

/** The dynamic loader runs its first operand. */
const loader = /^ld(?:-[\w-]+)?\.so(?:\.\d+)?$/;

/** Words that make a program run another one, or write to a path of the caller's choice. */
type Row = {
  /** without `--`; abbreviations match, and so does every option with this prefix */
  readonly long?: readonly string[];
  /** short options, subcommands and other operands */
  readonly words?: RegExp;
  /** where the order of the words matters */
  readonly runs?: (args: readonly string[]) => boolean;
};

const names = (list: string): string[] => list.split(' ');

const make: Row = {
  long: names('eval file makefile directory include-dir'),
  // A variable such as CC names a program; its name may contain `$(shell COMMAND)`.
  words: /^-\w*[fCEI]|[=$]/,
};
const tar: Row = {
  long: names(
    'checkpoint-action to-command use-compress-program info-script index-file ' +
      'new-volume-script rsh-command rmt-command',
  ),
  // `host:archive` starts ssh.
  words: /^-?[a-zA-Z]*[IF]|:/,
};

const rows: Readonly<Record<string, Row>> = {
  // Both can name a variable, and the shell evaluates a command in its index.
  test: { words: /^-[vR]/ },
  printf: { words: /^-v/ },
  find: { words: /^-(?:exec|ok|delete|fprint|fls)/ },
  fd: { long: names('exec'), words: /^-\w*[xX]/ },
  rg: { long: names('pre hostname-bin') },
  tar,
  gtar: tar,
  bsdtar: tar,
  git: {
    long: names(
      'config exec git-dir work-tree upload-pack receive-pack recurse-submodules ' +
        'open-files-in-pager output template ext-diff',
    ),
    words:
      /^(?:-\w*[cCxOu]|(?:bisect|submodule|filter-branch|difftool|mergetool|config|hook|daemon|send-email|instaweb|help|maintenance|remote-ext|merge-index|web--browse|gui|citool|svn|p4|shell)(?:--\S*)?$)/,
  },
  zip: { long: names('unzip-command test'), words: /^-\w*T/ },
  sort: { long: names('compress-program output temporary-directory'), words: /^-\w*[oT]/ },
  make,
  gmake: make,
  curl: {
    long: names(
      'output remote-name config upload-file create-dirs dump-header cookie-jar trace stderr ' +
        'etag-save libcurl hsts alt-svc engine write-out',
    ),
    words: /^-\w*[oOKTcDw]/,
  },
  wget: {
    long: names(
      'output execute use-askpass post-file body-file directory-prefix input-file append-output ' +
        'config start-pos save-cookies warc rejected-log hsts-file',
    ),
    words: /^-\w*[OePiao]/,
  },
  npm: { runs: npmRuns },
  split: { long: names('filter') },
  deno: { words: /^(?:-|(?:eval|repl|install|x)$)/ },
  go: { words: /^(?:-|(?:generate|tool|run)$)/ },
  cargo: { long: names('config'), words: /^(?:-C|-Z|(?:install|run|r)$)/ },
};

/**
 * Only `npm run SCRIPT` without further words. Further words are arguments of an unknown program,
 * and the script `env`, which every package has, executes them. npm completes abbreviated commands
 * (`npm exe`), and an installed package runs its own scripts, so other commands are allowed only by
 * name.
 */
function npmRuns(args: readonly string[]): boolean {
  const [command = '', script = '', ...more] = args;
  if (args.some((arg) => arg.startsWith('-'))) return true;
  if (/^(?:run|run-script)$/.test(command)) return script === 'env' || more.length > 0;
  if (/^(?:test|start|stop|restart|ci|install|rebuild)$/.test(command)) return script !== '';
  return !/^(?:|\*|ls|list|view|info|outdated|why|explain|audit|fund|ping|root|search)$/.test(
    command,
  );
}

function rowForbids({ long = [], words, runs }: Row, args: readonly string[]): boolean {
  const isLong = (arg: string): boolean => {
    const [name = ''] = /^--(.[^=]*)/s.exec(arg)?.slice(1) ?? [];
    return name !== '' && long.some((one) => one.startsWith(name) || name.startsWith(one));
  };
  return (runs?.(args) ?? false) || args.some((arg) => isLong(arg) || words?.test(arg) === true);
}

/** Reviewed: none of their options runs a program. */
const harmless = new Set(
  (
    'ls cat echo head tail wc grep egrep fgrep diff cmp stat file du df pwd date basename dirname ' +
    'realpath readlink tr cut uniq nl tac rev seq true false uname whoami id printenv ps uptime free ' +
    'sleep md5sum sha1sum sha256sum sha512sum cksum sum comm paste fold fmt expand unexpand od ' +
    'hexdump strings base64 tee touch mkdir rmdir cp mv ln rm chmod jq which column join tsort'
  ).split(' '),
);

const baseName = (program: string): string => program.slice(program.lastIndexOf('/') + 1);

/** Also matches a name with a version or a variant: `pip3.11` is pip, `vim.basic` is vim. */
const namesOf = (name: string): string[] => [
  name,
  name.replace(/\.[a-z]+$/, ''),
  name.replace(/-?\d[\d.]*$/, ''),
];

/** Whether no pattern may match the program. */
export const isNeverMatched = (program: string): boolean => never.has(program);

/**
 * Whether only a pattern without `*` may match. `isOpen`: the shell may expand one of the words to
 * any word, including an option.
 */
export const needsExactPattern = (
  program: string,
  args: readonly string[],
  isOpen = false,
): boolean => {
  const name = baseName(program).toLowerCase();
  if (namesOf(name).some((one) => always.has(one)) || loader.test(name)) return true;
  if (interpreter.test(name)) return isOpen || /^(?:$|[-+])/.test(args[0] ?? '');
  const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
  return row !== undefined && (isOpen || rowForbids(row, args));
};

/** Whether the program is an interpreter that runs its first operand as a script file. */
export const runsScriptFile = (program: string): boolean =>
  interpreter.test(baseName(program).toLowerCase());

/**
 * Whether a `*` may match these words. It never matches options of an unlisted program, `@file`
 * arguments (some programs read options from them), or words that the shell may expand to an option
 * (`isOpen`).
 */
export const mayStandFor = (program: string, free: readonly string[], isOpen: boolean): boolean => {
  const name = baseName(program).toLowerCase();
  if (harmless.has(name) || Object.hasOwn(rows, name) || interpreter.test(name)) return true;
  return !isOpen && !free.some((word) => /^[-+@]/.test(word));
};
