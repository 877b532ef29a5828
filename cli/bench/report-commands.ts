/** The commands that read reports of load tests: `troupe bench report`, `compare`, `check`. */
import { type Command, InvalidArgumentError } from 'commander';
import { examples, type Finish, withJson } from '../command-parts.ts';
import type { CheckOptions } from './check.ts';
import type { CompareOptions } from './compare.ts';
import type { ReportOptions } from './report.ts';

const withHtml = (command: Command): Command =>
  command.option('--html <file>', 'also write a page with plots, which opens offline');

export function addReportCommands(group: Command, finish: Finish): void {
  withJson(withHtml(group.command('report <file>')))
    .description('print the report of a load test as a table')
    .addHelpText(
      'after',
      examples('troupe bench report load.json', 'troupe bench report load.json --html load.html'),
    )
    .action(async (file: string, options: ReportOptions) => {
      finish((await import('./report.ts')).report(file, options));
    });
  withJson(withHtml(group.command('compare <before> <after>')))
    .description('compare two reports, with confidence intervals')
    .option('--anyway', 'also when their plans differ in mix, rates, arrival or model')
    .addHelpText(
      'after',
      examples(
        'troupe bench compare before.json after.json',
        'troupe bench compare before.json after.json --html compare.html',
      ),
    )
    .action(async (before: string, after: string, options: CompareOptions) => {
      finish((await import('./compare.ts')).compare(before, after, options));
    });
  addCheck(group, finish);
}

function addCheck(group: Command, finish: Finish): void {
  withJson(group.command('check <report>'))
    .description('exit with 1 when a report misses an objective; for CI')
    .option(
      '--slo <objectives>',
      'as p99=500ms,errors=0.1%, or p99=2s@chats for one workload; default: those of the test',
      (text: string, before?: readonly string[]) => [...(before ?? []), text],
    )
    .option('--up-to <rate>', 'only steps up to this rate, which the report must contain', rate)
    .option('--against <baseline>', 'an earlier report; slower than it by more is a failure')
    .option('--tolerance <percent>', 'how much slower it may be; default 10%', tolerance)
    .option('--anyway', 'also against a baseline with another plan')
    .addHelpText(
      'after',
      examples(
        'troupe bench check load.json',
        'troupe bench check load.json --slo p99=500ms,errors=0.1% --up-to 200',
        'troupe bench check load.json --against baseline.json --tolerance 15%',
      ),
    )
    .action(async (file: string, options: CheckOptions) => {
      finish((await import('./check.ts')).check(file, options));
    });
}

function rate(text: string): number {
  const value = Number(text.replace(/\/s$/, ''));
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('Expected requests per second, above 0.');
}

/** As a share. */
function tolerance(text: string): number {
  const [, percent] = /^(\d+(?:\.\d+)?)%?$/.exec(text.trim()) ?? [];
  if (percent !== undefined) return Number(percent) / 100;
  throw new InvalidArgumentError('Expected a percentage, as 10%.');
}
