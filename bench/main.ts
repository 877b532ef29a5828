/**
 * `npm run bench`: measures what the documentation claims, each figure next to its physical limit
 * of the same run, and compares with a saved baseline. `check` compares the figures with their
 * gates.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { assertWritable } from '../cli/bench/run-options.ts';
import { createModelCatalog, type ProviderSettings } from '../agent/models/catalog.ts';
import { embedderOf } from '../agent/models/configured-embedder.ts';
import { systemClock } from '../runtime/index.ts';
import { defined } from '../protocols/defined.ts';
import { checkAccount } from './faults/check-account.ts';
import { faults } from './faults/main.ts';
import { serveNode } from './harness/cell.ts';
import { serveGateway } from './harness/gateway-host.ts';
import { serveEcho } from './harness/echo.ts';
import { serveMcp } from './harness/mcp-server.ts';
import { checkGate, type Gate, parseGate, withGates } from './harness/gates.ts';
import { compare, reportOf, verdictsOf } from './harness/report.ts';
import { type Baseline, defaultBaseline, readResults } from './harness/baselines.ts';
import { machineFacts } from './harness/computer.ts';
import { runScenarios } from './harness/runner.ts';
import { type Scale, type Scenario, scales } from './harness/scenario.ts';
import { serveSockets } from './harness/websocket-clients.ts';
import { work } from './harness/worker.ts';
import { scenarios } from './scenarios.ts';
import { scale as runScale } from './scale.ts';
import { compareCheckouts } from './compare.ts';
import { watchPage } from './page.ts';
import { measureRetrieval, retrievalText } from './retrieval/retrieval.ts';
import { soak, type SoakOptions } from './soak.ts';

const usage = `usage: npm run bench -- [list | check] [scenario …] [options]
       npm run bench -- compare FOLDER scenario … [--rounds N] [--quick]
       npm run bench -- faults [--kills N] [--only NAME] [--seed N]
       npm run bench -- scale [--workers N] [--quick] [--json FILE]
       npm run bench -- page [--minutes N] [--actors N]
       npm run bench -- soak [--minutes N] [--seed N]
       npm run bench -- retrieval PATH [--model NAME] [--url URL] [--questions N]

  (nothing)         run the named scenarios, or all, and print their figures
  list              print the names of the scenarios
  check             run those that have gates; exit 1 when a threshold is missed
  compare           run scenarios in another checkout and in this one alternately
  faults            break a cluster of real processes under load and check every message
  account FILE      count an account of \`faults\` again; exit 1 when anything differs or is missing
  scale             the same load on 1 to N workers: rates, processor time, efficiency
  page              print what grows in a browser and in the server under load, and frame times
  soak              memory, handles and disk of a process under load with 1 % faults, by kind
  retrieval         how well notes are found, by a public benchmark: a folder of BEIR, or a file of
                    LongMemEval

  --quick           seconds instead of minutes, one repeat, a tenth of the actors
  --smoke           only shows that each scenario runs; its figures mean nothing
  --repeats N       repeats of each scenario, default 3; the median is reported
  --json FILE       write all figures and the properties of the machine
  --baseline FILE   compare with the figures of a file; default that of this kind of machine in
                    bench/baselines, else one of another kind, which is then said
  --gate S.F=N      another threshold for the figure F of scenario S
  --profile DIR     write CPU profiles of the measured processes
  --peers FOLDER    other libraries beside ours, where they were installed with npm: better-sqlite3,
                    sqlite-vec, hnswlib-node, usearch, minisearch
  --rounds N        of compare: pairs of runs, default 5
  --kills N         of faults: kills of workers, default 100
  --only NAME       of faults: one scenario
  --seed N          of faults and soak: repeats the random choices of a run
  --account FILE    of faults: write the account of every message, see docs/faults.md
  --workers N       of scale: the most workers, default 4
  --minutes N       of page and soak: how long to watch, default 60
  --actors N        of page: sessions in the tree, default 10000
  --model NAME      of retrieval: a model of embeddings, as openai/text-embedding-3-small, whose key
                    is in the environment; default: by words alone
  --url URL         of retrieval: base URL of a server with OpenAI's API; then NAME is its model
  --questions N     of retrieval: the first N questions, default all
`;

const { values: options, positionals } = parse();
checkFiles();

if (positionals[0] === 'worker') {
  const [, name = '', scale = '', folder = ''] = positionals;
  await work(named(name), scale as Scale, folder);
} else if (positionals[0] === 'echo') await serveEcho();
else if (positionals[0] === 'sockets') serveSockets();
else if (positionals[0] === 'mcp-server') serveMcp(Number(positionals[1]));
else if (positionals[0] === 'gateway-host')
  await serveGateway(positionals[1] ?? '', positionals[2] ?? '', Number(positionals[3]));
else if (positionals[0] === 'node') await serveNode(JSON.parse(positionals[1] ?? ''));
else if (positionals[0] === 'faults' && options.help !== true)
  process.exit(await faults(faultsAsked()));
else if (positionals[0] === 'account' && options.help !== true) process.exitCode = checked();
else if (positionals[0] === 'scale' && options.help !== true) await runScale(scaleAsked());
else if (positionals[0] === 'soak' && options.help !== true) await soak(soakAsked());
else if (positionals[0] === 'page' && options.help !== true) await watchPage(pageAsked());
else if (positionals[0] === 'retrieval' && options.help !== true) console.log(await retrieval());
else if (options.help === true) console.log(usage);
else if (positionals[0] === 'compare') console.log(compared());
else if (positionals[0] === 'list')
  for (const { name, question } of scenarios) console.log(`${name.padEnd(23)}${question}`);
else process.exitCode = await bench();

async function bench(): Promise<number> {
  const check = positionals[0] === 'check';
  const names = check ? positionals.slice(1) : positionals;
  const gates = gatesAsked(options.gate);
  const baseline = baselineAsked(options.baseline);
  const gated = scenarios.filter(({ name }) => gates.some((g) => g.figure.startsWith(`${name}.`)));
  const chosen = names.length > 0 ? names.map(named) : check ? gated : scenarios;
  const results = await runScenarios(chosen, {
    scale: scales.find((one) => options[one as 'quick' | 'smoke'] === true) ?? 'full',
    onProgress: (line) => console.error(`  … ${line}`),
    ...(options.repeats === undefined ? {} : { repeats: wholeNumber('repeats', options.repeats) }),
    ...(options.profile === undefined ? {} : { profiles: resolve(options.profile) }),
    ...(options.peers === undefined ? {} : { peers: resolve(options.peers) }),
  });
  console.log(reportOf(results, gates));
  if (baseline) console.log(compare(results, baseline.results));
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`);
  if (!check) return results.scenarios.some(({ status }) => status === 'failed') ? 1 : 0;
  const { text, passed } = verdictsOf(results, gates);
  console.log(text);
  return passed ? 0 : 1;
}

function compared(): string {
  const [, folder, ...names] = positionals;
  if (folder === undefined || names.length === 0)
    return refuse('compare needs the folder of another checkout, and scenarios');
  try {
    return compareCheckouts({
      folder,
      scenarios: names.map((name) => named(name).name),
      quick: options.quick === true,
      onProgress: (line) => console.error(`  … ${line}`),
      ...(options.rounds === undefined ? {} : { rounds: wholeNumber('rounds', options.rounds) }),
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function checked(): number {
  const [, file = refuse('account needs the file of an account')] = positionals;
  try {
    const { text, passed } = checkAccount(file);
    console.log(text);
    return passed ? 0 : 1;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function faultsAsked() {
  const { kills = '100', only, seed, account } = options;
  return {
    kills: wholeNumber('kills', kills),
    ...defined({ only, account }),
    ...(seed === undefined ? {} : { seed: wholeNumber('seed', seed) }),
  };
}

function scaleAsked() {
  const { workers = '4', json, quick, smoke } = options;
  return {
    workersMax: wholeNumber('workers', workers),
    scale:
      smoke === true ? ('smoke' as const) : quick === true ? ('quick' as const) : ('full' as const),
    ...defined({ json }),
  };
}

function pageAsked() {
  const { minutes = '60', actors = '10000' } = options;
  return {
    minutes: wholeNumber('minutes', minutes),
    actors: wholeNumber('actors', actors),
    everySec: 30,
    print: (line: string) => console.log(line),
  };
}

function soakAsked(): SoakOptions {
  const { minutes = '60', seed = String(Date.now() % 1e9) } = options;
  return {
    minutes: wholeNumber('minutes', minutes),
    seed: wholeNumber('seed', seed),
    everySec: 15,
    idleSec: 110,
    print: (line: string) => console.log(line),
  };
}

async function retrieval(): Promise<string> {
  const asked = retrievalAsked();
  try {
    return retrievalText(await measureRetrieval(asked));
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function retrievalAsked() {
  const [, path] = positionals;
  if (path === undefined)
    return refuse('retrieval needs a folder of BEIR or a file of LongMemEval');
  const { model, url, questions } = options;
  return {
    path,
    onProgress: (line: string) => console.error(`  … ${line}`),
    ...(questions === undefined ? {} : { questionsMax: wholeNumber('questions', questions) }),
    ...(model === undefined ? {} : { embedder: embedderFor(model, url) }),
  };
}

/** @param url of a server with OpenAI's API; default: the provider that the name begins with */
function embedderFor(model: string, url: string | undefined) {
  const providers: Record<string, ProviderSettings> =
    url === undefined ? {} : { own: { api: 'openai-completions', baseUrl: url } };
  const catalog = createModelCatalog({ providers }, { env: process.env, clock: systemClock });
  return embedderOf(catalog, url === undefined ? model : `own/${model}`, undefined);
}

function gatesAsked(own: readonly string[] = []): readonly Gate[] {
  try {
    const parsed = own.map(parseGate);
    for (const gate of parsed) checkGate(gate, scenarios);
    return withGates(parsed);
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        model: { type: 'string' },
        url: { type: 'string' },
        questions: { type: 'string' },
        quick: { type: 'boolean' },
        smoke: { type: 'boolean' },
        repeats: { type: 'string' },
        json: { type: 'string' },
        baseline: { type: 'string' },
        gate: { type: 'string', multiple: true },
        profile: { type: 'string' },
        peers: { type: 'string' },
        rounds: { type: 'string' },
        kills: { type: 'string' },
        only: { type: 'string' },
        account: { type: 'string' },
        seed: { type: 'string' },
        workers: { type: 'string' },
        minutes: { type: 'string' },
        actors: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

/** Files of results are written at the end, which may be an hour later. */
function checkFiles(): void {
  try {
    assertWritable({ json: options.json });
  } catch (error) {
    refuse((error as Error).message);
  }
}

function named(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  return (
    found ?? refuse(`there is no scenario ${name}: ${scenarios.map((s) => s.name).join(', ')}`)
  );
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value > 0
    ? value
    : refuse(`--${option} is a whole number from 1`);
}

/** A file that is named must exist; the default is the one of this kind of machine. */
function baselineAsked(path: string | undefined): Baseline | undefined {
  try {
    if (path === undefined) return defaultBaseline('bench/baselines', machineFacts());
    return { results: readResults(path), path };
  } catch (error) {
    return refuse(`the baseline ${path} cannot be read: ${(error as Error).message}`);
  }
}

function refuse(why: string): never {
  console.error(`bench: ${why}\nnpm run bench -- --help lists the options`);
  process.exit(2);
}
