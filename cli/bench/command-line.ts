/** The command line of a test, as its report shows it. */

const SECRET_OPTIONS = ['--token', '--bearer'];

/** Without the values of secrets, and without credentials in a URL. */
export function commandLine(args: readonly string[]): string {
  const shown = args.map((arg, at) => {
    if (SECRET_OPTIONS.includes(args[at - 1] ?? '')) return '***';
    const secret = SECRET_OPTIONS.find((option) => arg.startsWith(`${option}=`));
    const text = secret ? `${secret}=***` : arg.replace(/\/\/[^/@\s]*@/, '//***@');
    return /^[\w@%+=:,./*-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
  });
  return ['troupe', ...shown].join(' ');
}
