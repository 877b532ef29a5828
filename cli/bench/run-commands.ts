/** The commands that load an installation: `troupe bench run` and the scripted model. */
import type { Command } from 'commander';
import { defaultCommand, examples, type Finish, withClient, withJson } from '../command-parts.ts';
import { loading } from '../progress.ts';
import type { ModelOptions } from './model.ts';
import type { RunOptions } from './run-options.ts';

export function addRunCommands(group: Command, finish: Finish): void {
  withTarget(withLoad(defaultCommand(group, 'run')))
    .description('load an installation at a stated rate, and report latencies and limits')
    .option('--json [file]', 'write the report to this file; without a file, print it')
    .option('--html <file>', 'also write a page with plots, which opens offline')
    .option('--label <text>', 'name of this test in reports')
    .addHelpText('after', workloadHelp)
    .addHelpText(
      'after',
      examples(
        'troupe bench --rate 50 --duration 30s --mix runs=8,envelopes=2',
        "troupe bench --ramp 10..400 --slo 'p99=500ms,errors=0.1%' --html load.html",
        "troupe bench --model 'latency=lognormal:p50=400ms,p99=2s errors=2%' --json load.json",
        'troupe bench --running --rate 5 --mix memory',
        'troupe bench --url wss://agents.example.com --token … --mix chats --allow-cost',
      ),
    )
    .action(async (options: RunOptions) => {
      const { run } = await loading('the load test', () => import('./run.ts'));
      finish(await run(options));
    });
  addModel(group, finish);
}

const several = (value: string, before: readonly string[] = []) => [...before, value];

const withLoad = (command: Command): Command =>
  command
    .option('--rate <n>', 'requests per second, all workloads together; default 10')
    .option('--duration <time>', 'how long, as 30s or 5m; default 30s')
    .option('--warmup <time>', 'load before the measurement starts; default 5s')
    .option('--mix <weights>', 'workloads by weight, as runs=8,envelopes=2; default runs')
    .option('--ramp <from..to>', 'rising rates until an objective is missed, as 10..400')
    .option('--steps <n>', 'of a ramp; default 8, each rate the one before times a constant')
    .option('--factor <x>', 'of a ramp: from one rate to the next, instead of --steps')
    .option('--step-duration <time>', 'of a ramp: of each step; default 15s')
    .option('--refine <n>', 'of a ramp: rates to try below the one that missed; default 2')
    .option('--slo <objectives>', 'p50, p90, p99, p999, max or errors: p99=500ms@chats', several)
    .option('--arrival <kind>', 'poisson (default) or constant distances')
    .option('--seed <n>', 'the same seed has the same schedule; default 1')
    .option('--timeout <time>', 'a slower request fails with TIMEOUT; default 30s')
    .option('--grace <time>', 'wait for answers after the last request; default 10s')
    .option('--max-in-flight <n>', 'further requests fail with IN_FLIGHT_LIMIT; default 10000')
    .option('--connections <n>', 'HTTP connections; more requests wait; default 64')
    .option('--clients <n>', 'WebSocket connections, each with many requests; default 2')
    .option('--model <script>', 'own installation: a scripted model instead of the offline one')
    .option('--agent <id>', 'agent of messages and searches; default main')
    .option('--message <text>', 'text of messages')
    .option('--query <text>', 'what memory searches look for')
    .option('--action <name>', 'action of envelopes; default conformance.echo_payload')
    .option('--payload <json>', 'its payload')
    .option('--tool <name>', 'tool of mcp')
    .option('--arguments <json>', 'its arguments');

const withTarget = (command: Command): Command =>
  withClient(command)
    .option('--running', 'load the gateway that runs with this data folder')
    .option('--bearer <jwt>', 'with --url: token of a program, for envelopes and mcp')
    .option('--allow-cost', 'with --url or --running: real models may be called and cost money');

const workloadHelp = `
Without --url and --running, it starts an installation of its own in a temporary folder, with the
offline model, and removes it afterwards.

Workloads, and what counts as success:
  runs       runs of an agent over the gateway, to the end of the run
  chats      messages over the channel webchat, to the event with the answer
  envelopes  envelopes over HTTP, to the result of the task
  subagents  runs that start a subagent, until it has completed
  memory     searches in the notes of an agent
  mcp        tools/call over /mcp, to a result without error

Requests are due by a schedule that does not wait for answers. Latency counts from the time at
which a request was due, and service time from when it was sent.

Exit codes: 0 all objectives met, 1 one missed, 130 stopped by Ctrl-C after a partial report.
`;

function addModel(group: Command, finish: Finish): void {
  withJson(group.command('model'))
    .description('run a scripted model (OpenAI-compatible), and print how to configure it')
    .option('--port <n>', 'port; default 0, a free one')
    .option('--latency <distribution>', 'until the first token; default 0')
    .option('--errors <shares>', '2%, or 429=1%,500=0.5%,disconnect=0.5%; default none')
    .option('--tokens <distribution>', 'of an answer; default 20')
    .option('--pace <n>', 'tokens per second; default 0, all at once')
    .option('--seed <n>', 'the same seed has the same draws; default 1')
    .addHelpText(
      'after',
      `
Distributions: 400ms, uniform:100ms..2s, lognormal:p50=400ms,p99=2s.
It listens on 127.0.0.1 until Ctrl-C. Errors are 429 with Retry-After, 500, and a connection that
breaks in the middle of the answer.
${examples(
  'troupe bench model --port 9000 --latency lognormal:p50=400ms,p99=2s --errors 2%',
  'troupe bench model --latency uniform:100ms..1s --tokens 200 --pace 50 --json',
)}`,
    )
    .action(async (options: ModelOptions) => {
      finish(await (await import('./model.ts')).model(options));
    });
}
