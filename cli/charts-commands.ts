/** The commands `troupe charts`. */
import { Argument, type Command, Option } from 'commander';
import type { ChartFormat, ExportOptions, ListOptions } from './charts.ts';
import { defaultCommand, examples, type Finish, wholeNumber, withJson } from './command-parts.ts';

const formats: readonly ChartFormat[] = ['json', 'ts', 'mermaid', 'svg', 'html'];

const withActors = (command: Command): Command =>
  command.option(
    '--actors <file>',
    'a module that exports actor definitions or machines; default: those of troupe',
  );

export function addCharts(program: Command, finish: Finish): void {
  const charts = program.command('charts').description('the statecharts of the actors');
  withActors(withJson(defaultCommand(charts, 'list')))
    .description('list the actor types')
    .action(async (options: ListOptions) => {
      finish(await (await import('./charts.ts')).list(options));
    });
  withActors(charts.command('export'))
    .description('print charts, or write one file for each; html is one page for all')
    .addArgument(new Argument('[type]', 'one actor type; default all'))
    .addOption(new Option('--format <format>', 'what to write').choices(formats).default('json'))
    .option('--bare', 'json and ts: names without the source of functions (default)', true)
    .option('--no-bare', 'json and ts: with the source of functions')
    .addOption(new Option('--depth <levels>', 'svg: levels of states').argParser(wholeNumber))
    .option('--out <dir>', 'folder to write to; default stdout')
    .addHelpText(
      'after',
      examples(
        'troupe charts export session --format svg > session.svg',
        'troupe charts export --format html > charts.html',
        'troupe charts export --format ts --out charts',
        'troupe charts export --format svg --actors order.ts --out charts',
      ),
    )
    .action(async (type: string | undefined, options: ExportOptions) => {
      finish(await (await import('./charts.ts')).exportCharts(type, options));
    });
}
