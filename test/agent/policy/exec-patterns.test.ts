/** Patterns of commands: which commands run without an approval, and which ones need one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  alwaysPattern,
  isAllowedCommand,
  patternFault,
  patternWarning,
} from '../../../agent/policy/exec-patterns.ts';
import { quoted, readShellLine } from '../../../agent/policy/shell-line.ts';

const patterns = [
  'git status',
  'npm run *',
  'ls *',
  'cat src/*',
  'cp * backup',
  'echo *',
  'find *',
  'node *',
  'sudo systemctl restart web',
  'NODE_ENV=test vitest run',
];
const allowed = (line: string) => isAllowedCommand(line, patterns);

describe('a command that patterns match', () => {
  it.each([
    'git status',
    '  git   status\t',
    "git 'status'",
    '"git" st"at"us',
    'git status && npm run build',
    'git status || ls; npm run test | ls -la\nls\n',
    'ls',
    'ls *.ts ~/notes',
    'ls src > /dev/null 2>&1',
    'git status 2>/dev/null',
    'cat src/main.ts',
    'cat src/a.b',
    'cp -f backup'.replace('-f', 'file'),
    "echo 'not $(this) `or` ; that & | > x'",
    'echo "a;b" a\\;b a#b ',
    'find . -name x',
    'node build.mjs',
    'sudo systemctl restart web',
    'NODE_ENV=test vitest run',
    'git status &',
    'ls &&\n ls',
  ])('runs without an approval: %s', (line) => {
    expect(allowed(line)).toBe(true);
  });
});

describe('a `*` that could start another program', () => {
  const wide = [
    'npm run *',
    'npm *',
    'yarn run *',
    'pnpm run *',
    'bun run *',
    'split *',
    'sqlite3 *',
    'gcc *',
    'cc *.c *',
    'make *',
    'go *',
    'cargo *',
    'zip *',
    'tar *',
    'git *',
    'sort *',
    'curl *',
    'setarch *',
    'prlimit *',
    '/usr/bin/time *',
    '/lib64/ld-linux-x86-64.so.2 *',
    'pip3.11 *',
    'vim.basic *',
    'perf *',
    'ssh-agent *',
    'somebodys-tool *',
  ];

  it.each([
    'npm run env -- touch owned',
    'npm run env',
    'npm run build -- -e x',
    'npm run build x',
    'npm run --script-shell=./evil build',
    'npm test -- x',
    'npm pkg set scripts.x=y',
    'yarn run node -e x',
    'pnpm run env -- sh',
    'bun run evil.ts',
    "split --filter='touch owned' big",
    'split --filt=sh big',
    "sqlite3 db '.shell touch owned'",
    'gcc -wrapper ./evil a.c',
    'gcc -fplugin=./evil.so a.c',
    'gcc @options a.c',
    './gcc -wrapper ./evil a.c',
    '/usr/bin/gcc -B. a.c',
    'cc a.c -wrapper',
    'make CC=./evil',
    'make SHELL=./evil',
    'make .SHELLFLAGS=x',
    'go run evil.go',
    'cargo run',
    'zip -T -TT ./evil a.zip b',
    'tar cf a.tar . --checkpoint-action=exec=sh',
    'git -c core.pager=./evil log',
    'sort --compress-program=./evil a',
    'git ls-remote --up=./evil .',
    'git clone --u ./evil . copy',
    'git clone --co core.sshCommand=./evil ssh://h/x',
    'git push --e=./evil . HEAD',
    'git remote-ext x ./evil',
    'git merge-index ./evil -a',
    'npm run-s env ./evil',
    'npm exe ./evil',
    'npm install ./evil',
    "make 'SHELL =./evil'",
    "make '$(shell ./evil)=1'",
    'sort -S 1k --co=./evil big',
    "tar cf '-oProxyCommand=./evil:x' big",
    "curl -w '%output{evil}x' file:///etc/hostname",
    'setarch x86_64 ./evil',
    'prlimit ./evil',
    '/usr/bin/time ./evil',
    '/lib64/ld-linux-x86-64.so.2 ./evil',
    'pip3.11 install ./evil',
    'vim.basic -c evil',
    'perf stat ./evil',
    'ssh-agent ./evil',
    'somebodys-tool --exec=./evil',
    'somebodys-tool -x ./evil',
    'somebodys-tool *',
  ])('does not match: %s', (line) => {
    expect(isAllowedCommand(line, wide)).toBe(false);
  });

  it.each([
    'npm run build',
    'npm run',
    'npm test',
    'split big part-',
    'make',
    'make test',
    'go vet ./src',
    'cargo build',
    'npm ci',
    'npm outdated',
    'git log --oneline -5',
    'sort -u --reverse big',
    'tar czf a.tar.gz src',
    'curl -s https://example.org/',
    'somebodys-tool src/a b',
  ])('matches the program’s own functions: %s', (line) => {
    expect(isAllowedCommand(line, wide)).toBe(true);
  });

  it('matches an option that is in the pattern', () => {
    expect(isAllowedCommand('tsc --noEmit a.ts', ['tsc --noEmit *'])).toBe(true);
    expect(isAllowedCommand('tsc --noEmit --build a.ts', ['tsc --noEmit *'])).toBe(false);
  });

  it.each(['sqlite3 *', 'yarn run *', 'env *', 'npm run env *'])(
    'is reported in the configuration: %s',
    (pattern) => expect(patternFault(pattern)).toBeDefined(),
  );
});

describe('a command that needs an approval', () => {
  it.each([
    ['another program', 'rm -rf /'],
    ['more words than the pattern', 'git status --short'],
    ['fewer words', 'npm'],
    ['another first word', 'npm install'],
    ['a path to a program of that name', './ls'],
    ['one command of several', 'git status && rm x'],
    ['the one after a newline', 'git status\nrm x'],
    ['the one after a carriage return', 'git status\rrm x'],
    ['the one in the background', 'ls & rm x'],
    ['a pipe', 'ls | sh'],
    ['a pipe of both outputs', 'ls |& tee x'],
    ['a substitution', 'ls $(rm x)'],
    ['a substitution in quotes', 'ls "$(rm x)"'],
    ['backticks', 'ls `rm x`'],
    ['backticks in quotes', 'ls "`rm x`"'],
    ['a variable', 'ls $HOME'],
    ['the field separator', 'git$IFS"status"'],
    ['the field separator in braces', 'ls${IFS}x'],
    ['quotes that expand escapes', "echo $'\\x41'"],
    ['quotes that are translated', 'echo $"a"'],
    ['a file that is written', 'echo x > ~/.bashrc'],
    ['a file that is appended to', 'echo x >> y'],
    ['a file that is written without a space', 'echo x>y'],
    ['a file that is clobbered', 'echo x >| y'],
    ['a file by number', 'echo x 3> y'],
    ['both outputs to a file', 'echo x &> y'],
    ['a name that begins as the null device', 'echo x >/dev/nullx'],
    ['a file that is read', 'ls < x'],
    ['a here-document', 'ls <<EOF\nrm x\nEOF'],
    ['a here-string', 'ls <<< x'],
    ['a process substitution', 'ls <(rm x)'],
    ['a process substitution to write', 'ls >(rm x)'],
    ['a subshell', '(ls)'],
    ['a group', '{ ls; }'],
    ['brace expansion', 'ls {a,b}'],
    ['brace expansion of a program', '{rm,-rf,x}'],
    ['a comment', 'ls # rm'],
    ['a comment that hides a newline', 'ls #\nrm x'],
    ['a program by glob', '/bin/l? x'],
    ['a program by tilde', '~/ls'],
    ['no program', ''],
    ['blanks only', ' \n\t'],
    ['an empty program', "'' ls"],
    ['an operator without its right side', 'ls &&'],
    ['an operator without its left side', '&& ls'],
    ['two separators', 'ls ;; ls'],
    ['an open quote', "ls 'x"],
    ['an open double quote', 'ls "x'],
    ['a backslash at the end', 'ls \\'],
    ['a continued line', 'git \\\nstatus'],
    ['a no-break space', 'git\u00a0status'],
    ['an ideographic space', 'ls\u3000x'],
    ['a line separator', 'ls \u2028 rm'],
    ['a character of no width', 'ls x\u200brm'],
    ['text that runs backwards', 'ls \u202excod.sh'],
    ['an escape sequence of the terminal', 'ls \u001b[2K'],
    ['a null character', 'ls\0rm'],
    ['half a character', 'ls \ud800'],
    ['letters of another alphabet', 'l\u0455'],
    ['a variable in front', 'LD_PRELOAD=/tmp/x.so ls'],
    ['another variable in front', 'NODE_ENV=prod vitest run'],
    ['two variables in front', 'NODE_ENV=test A=b vitest run'],
    ['a variable alone, for what follows', 'PATH=/tmp; ls'],
    ['a name that is quoted with its sign', '"NODE_ENV=test" vitest run'],
    ['an alias', 'alias ls=rm; ls'],
    ['a function', 'ls() { rm x; }; ls'],
    ['a function by its word', 'function ls'],
    ['eval', 'eval ls'],
    ['a file that is sourced', '. ls'],
    ['a negation', '! ls'],
    ['a loop', 'while ls; do ls; done'],
    ['an option in place of a word', 'cp -rf backup'],
    ['a way out of a folder', 'cat src/../../etc/passwd'],
    ['a way out at the end', 'cat src/..'],
    ['a deeper folder', 'cat src/a/b'],
    ['a glob where a word is wanted', 'cat src/*'],
    ['a program that runs others', 'find . -exec rm {} +'],
    ['a program that removes', 'find . -delete'],
    ['an option that a file name may be', 'find *'],
    ['an interpreter with a program in its words', 'node -e "process.exit()"'],
    ['an interpreter that reads its program', 'node'],
    ['an interpreter with a joined option', 'node --eval=1'],
    ['an exact pattern with more words', 'sudo systemctl restart web now'],
    ['an exact pattern with other words', 'sudo systemctl stop web'],
    ['a line of many commands', 'ls;'.repeat(65)],
    ['a line of many characters', `ls ${'x'.repeat(8_192)}`],
  ])('%s: %j', (_, line) => {
    expect(allowed(line)).toBe(false);
  });

  it.each([
    ['sudo *', 'sudo ls'],
    ['/usr/bin/sudo *', '/usr/bin/sudo ls'],
    ['env *', 'env ls'],
    ['xargs *', 'xargs rm'],
    ['bash *', 'bash -c ls'],
    ['bash *', 'bash -xc ls'],
    ['python3 *', 'python3 -c 1'],
    ['python3.11 *', 'python3.11 -m http.server'],
    ['perl *', 'perl -ne 1'],
    ['tar *', 'tar cf x --checkpoint-action=exec=sh y'],
    ['tar *', 'tar cf x --checkpoint-act=exec=sh y'],
    ['git *', 'git -c core.pager=sh log'],
    ['git *', 'git grep -Osh x'],
    ['awk *', 'awk "BEGIN{system(1)}"'],
    ['sed *', 'sed -n 1p x'],
    ['ssh *', 'ssh host'],
    ['FIND *', 'FIND . -exec sh ;'],
    ['alias *', 'alias ls=rm'],
    ['test *', "test -v 'a[$(rm x)]'"],
    ['printf *', "printf -v 'a[$(rm x)]' %s y"],
    ['compgen *', "compgen -W '$(rm x)'"],
    ['wait *', "wait -n -p 'a[$(rm x)]'"],
    ['jobs *', 'jobs -x rm x'],
    ['eval ls', 'eval ls'],
    ['* status', 'git status'],
    ['*', 'ls'],
    ['ls', 'ls x'],
    ['ls $(x)', 'ls $(x)'],
    ["git log 'a*'", 'git log abc'],
  ])('pattern %j does not match %j', (pattern, line) => {
    expect(isAllowedCommand(line, [pattern])).toBe(false);
  });

  it.each(['sudo *', 'eval x', '* x', 'ls $(x)', '', 'ls > x', 'find . -exec *', '# x'])(
    'the pattern %j is reported as allowing nothing',
    (pattern) => {
      expect(patternFault(pattern)).toMatch(/\w/);
    },
  );

  it.each(['bash *', 'PYTHON3 *', '/usr/bin/python3.11 *.py', 'A=1 node *', 'ls && sh *'])(
    '%s has a warning: it runs any script file',
    (pattern) => expect(patternWarning(pattern)).toMatch(/script file/),
  );

  it.each(['bash build.sh', 'node build.js *', "sh '*'", 'ls *', 'git *', '$(x'])(
    '%s has no warning',
    (pattern) => expect(patternWarning(pattern)).toBeUndefined(),
  );

  it.each(patterns)('a valid pattern has no fault: %s', (pattern) => {
    expect(patternFault(pattern)).toBeUndefined();
  });
});

describe('the pattern that "always" adds', () => {
  it.each([
    ['git push origin main', 'git push origin main'],
    ['cd web && npm test || npm run "a b"', "cd web && npm test && npm run 'a b'"],
    ["grep '*' x", "grep '*' x"],
    ["echo it\\'s", "echo 'it'\\''s'"],
    ['A=b make', 'A=b make'],
    ['A= make', 'A= make'],
    ['sudo apt update', 'sudo apt update'],
    ['ls ""', "ls ''"],
  ])('%s: allows exactly this command', (line, pattern) => {
    expect(alwaysPattern(line)).toBe(pattern);
    expect(isAllowedCommand(line, [pattern])).toBe(true);
  });

  it.each(['ls $(x)', 'ls *', 'alias a=b', `echo ${'x'.repeat(1_001)}`, '', 'cat ~/x'])(
    'does not exist for %j',
    (line) => {
      expect(alwaysPattern(line)).toBe('');
    },
  );
});

/** Characters that shells interpret, more often than others. */
const char = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...' \t\n;&|<>()$`\\"\'*?[]#~=%!{}-./'.split('')) },
  { weight: 2, arbitrary: fc.constantFrom(...'abls01'.split('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
);
const text = fc.array(char, { maxLength: 24 }).map((chars) => chars.join(''));

describe('for arbitrary words', () => {
  it('a quoted word is parsed unchanged, or the line is rejected', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (words) => {
        const read = readShellLine(['run', ...words.map(quoted)].join(' '));
        if (!read) return;
        expect(read).toHaveLength(1);
        expect(read[0]?.words.map((word) => word.text)).toEqual(['run', ...words]);
      }),
    );
  });

  it('the pattern that "always" adds matches its line', () => {
    fc.assert(
      fc.property(text, (line) => {
        const pattern = alwaysPattern(line);
        expect(pattern === '' || isAllowedCommand(line, [pattern])).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('the pattern that "always" adds matches no line with other words', () => {
    const words = fc.array(text, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(words, words, (a, b) => {
        const [one, other] = [a, b].map((list) => ['run', ...list.map(quoted)].join(' '));
        const pattern = alwaysPattern(one ?? '');
        const isSame = JSON.stringify(a) === JSON.stringify(b);
        expect(!isSame && isAllowedCommand(other ?? '', [pattern])).toBe(false);
      }),
    );
  });

  it('a pattern for quoted words does not match a line with more than these words', () => {
    fc.assert(
      fc.property(
        text,
        text,
        fc.constantFrom('; ', '\n', ' & ', ' | ', ' && '),
        (a, b, operator) => {
          const line = `ls ${quoted(a)}${operator}rm ${b}`;
          expect(isAllowedCommand(line, ['ls *'])).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
