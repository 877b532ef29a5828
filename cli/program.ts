/**
 * The command line: every command, its options and its help. The code of a command is imported when
 * it runs, so that `troupe --help` and each command load nothing of the other commands.
 */
import { Argument, Command, Help } from 'commander';
import { addInspect, addReplay } from './actors/actors-commands.ts';
import { addConfigCommands, configGroup } from './config/config-commands.ts';
import type { AgentOptions } from './chat/agent.ts';
import { addAgentPrompt, addAgentWorkspace } from './agents/agent-prompt-command.ts';
import { addBackupCommands } from './backup/backup-commands.ts';
import { addBenchCommands } from './bench/bench-commands.ts';
import { addCharts } from './charts-commands.ts';
import type { ChatOptions } from './chat/chat.ts';
import { addClusterCommands } from './cluster/cluster-commands.ts';
import {
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withConfig,
  withJson,
} from './command-parts.ts';
import type { Shell } from './completion.ts';
import { addConformance } from './conformance/conformance-commands.ts';
import type { DevOptions } from './project/dev.ts';
import type { InitOptions } from './project/init.ts';
import type { OpenOptions } from './open.ts';
import type { CommonOptions } from './options.ts';
import type { SupportOptions } from './support/support-bundle.ts';
import { addSdkCommand } from './sdk-commands.ts';
import { addServiceCommands } from './service/service-commands.ts';
import { addTransferCommands } from './transfer/transfer-commands.ts';
import { addOperationGroups, operationGroupNames } from './operation-groups.ts';
import { addUpgradeCommands } from './upgrade/upgrade-commands.ts';
import { version } from './version.ts';

/** @param args the command line: only the definitions of operations that it names are loaded */
export async function buildProgram(finish: Finish, args: readonly string[]): Promise<Command> {
  const program = new Command('troupe')
    .description('Durable multi-agent runtime: agents that continue after a crash.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureHelp({ formatItem, minWidthToWrap: 24 })
    .configureOutput({
      getOutHelpWidth: () => widthOf(process.stdout),
      getErrHelpWidth: () => widthOf(process.stderr),
    })
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText('after', ({ command }) => exitCodeHelp(command.createHelp()));
  const parts: readonly Part[] = [
    addStart,
    addOpen,
    addClusterCommands(args),
    addServiceCommands,
    addTransferCommands,
    addBackupCommands,
    addUpgradeCommands,
    addChat,
    addAgent,
    addOperationGroups(args),
    addConformance,
    addBenchCommands,
    addSdkCommand,
    addCharts,
    addInspect,
    addReplay,
    addConfigCommands(args),
    addDoctor,
    addSupportBundle,
    addCompletion,
    addProjectCommands,
  ];
  for (const add of parts) await add(program, finish);
  return program;
}

type Part = (parent: Command, end: Finish) => void | Promise<void>;

const WIDTH = 80;
const INDENT = 6;

/**
 * Terminals of containers and of CI may have 0 columns, which means that their width is unknown.
 */
const widthOf = ({ columns }: { readonly columns?: number }): number => columns || WIDTH;

const exitCodeHelp = (help: Help): string =>
  `\n${help.boxWrap(
    'Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration, 3 no gateway answers, ' +
      '4 refused by the gateway, 5 not ended in time, 6 port or data folder in use, 130 Ctrl-C.',
    widthOf(process.stdout),
  )}\n`;

/** As commander; below its term where the terminal leaves too little room beside it. */
function formatItem(term: string, termWidth: number, description: string, help: Help): string {
  const width = help.helpWidth ?? WIDTH;
  if (description === '' || width - termWidth - 4 >= help.minWidthToWrap)
    return Help.prototype.formatItem.call(help, term, termWidth, description, help);
  const lines = help.boxWrap(description, Math.max(1, width - INDENT)).split('\n');
  return [`  ${term}`, ...lines.map((line) => `${' '.repeat(INDENT)}${line}`)].join('\n');
}

function addStart(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('start')))
    .description('run troupe in this process and print the URL of its page')
    .addHelpText(
      'after',
      examples(
        'troupe start',
        'troupe start --port 0 --data /tmp/trial',
        'ANTHROPIC_API_KEY=… troupe start',
      ),
    )
    .action(async (options: CommonOptions) => {
      finish(await (await import('./processes/start.ts')).start(options));
    });
}

function addOpen(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('open')))
    .description('open the page of the running gateway in the browser, signed in')
    .option('--no-browser', 'only print its URL')
    .addHelpText('after', examples('troupe open', 'troupe open --no-browser'))
    .action(async (options: OpenOptions) => {
      finish(await (await import('./open.ts')).open(options));
    });
}

function addChat(program: Command, finish: Finish): void {
  withClient(program.command('chat'))
    .description('chat with an agent in the terminal')
    .option('--session <key>', 'session; default: the main session')
    .option('--agent <id>', 'agent; default: the default agent')
    .option('--blocks', 'print answers by paragraphs instead of words')
    .addHelpText(
      'after',
      examples('troupe chat', 'troupe chat --session work', "printf 'hello\\n' | troupe chat"),
    )
    .action(async (options: ChatOptions) => {
      finish(await (await import('./chat/chat.ts')).chat(options));
    });
}

function addAgent(program: Command, finish: Finish): void {
  const agent = withJson(withClient(program.command('agent')))
    .description('send one message to an agent and print its answer')
    .option('-m, --message <text>', 'the message; - reads it from stdin')
    .option('--session <key>', 'session; default: the main session')
    .option('--agent <id>', 'agent; default: the default agent')
    .option('--model <name>', 'model as provider/model')
    .option('--thinking <level>', 'off, minimal, low, medium, high or xhigh')
    .option(
      '--verbose [level]',
      'how the reply shows tool calls: off, on (without a level) or full',
    )
    .option('--timeout <seconds>', 'time limit of the run; default: the agent’s', wholeNumber)
    .option('--image <file...>', 'images to attach to the message')
    .option('--run-id <id>', 'id of the run: a repeat returns the first result')
    .addHelpText(
      'after',
      examples(
        "troupe agent --message 'What can you do?'",
        "troupe agent -m 'Sum this up.' --session work --json",
        'git diff | troupe agent -m - --run-id review-42',
      ),
    )
    .action(async ({ message, ...options }: Partial<AgentOptions>) => {
      // not required by commander, which would require it below `agent` as well
      if (message === undefined)
        agent.error(`error: required option '-m, --message <text>' not specified`);
      finish(await (await import('./chat/agent.ts')).agent({ message: message!, ...options }));
    });
  addAgentPrompt(agent, finish);
  addAgentWorkspace(agent, finish);
}

function addProjectCommands(program: Command, finish: Finish): void {
  withJson(program.command('init [folder]'))
    .description(
      'write a project: an own actor with an effect, a tool, a test; --js: in JavaScript',
    )
    .option('--js, --javascript', 'in JavaScript instead of TypeScript')
    .addHelpText('after', examples('troupe init my-agents', 'troupe init my-agents --js'))
    .action(async (folder: string | undefined, options: InitOptions) => {
      finish(await (await import('./project/init.ts')).init(folder ?? '.', options));
    });
  program
    .command('dev <file>')
    .description('run a program of a project, and start it again when a file changes')
    .option('--no-open', 'do not open the page; without a terminal, or with CI set, it never opens')
    .addHelpText('after', examples('troupe dev src/main.ts', 'troupe dev src/main.ts --no-open'))
    .action(async (file: string, options: DevOptions) =>
      finish(await (await import('./project/dev.ts')).dev(file, options)),
    );
}

function addCompletion(program: Command, finish: Finish): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        'source <(troupe completion bash)',
        'source <(troupe completion zsh)',
        'troupe completion fish > ~/.config/fish/completions/troupe.fish',
      ),
    )
    .action(async (shell: Shell) => {
      const whole = await buildProgram(finish, [...operationGroupNames, configGroup]);
      finish((await import('./completion.ts')).completion(shell, whole));
    });
}

function addSupportBundle(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('support-bundle')))
    .option('--out <file>', 'the archive; default troupe-support-TIME.tar.gz in this folder')
    .option('--list', 'only print what it would contain')
    .description('write an archive for a report of a problem, without secrets and conversations')
    .addHelpText('after', examples('troupe support-bundle --list', 'troupe support-bundle'))
    .action(async (options: SupportOptions) => {
      finish(await (await import('./support/support-bundle.ts')).supportBundle(options));
    });
}

function addDoctor(program: Command, finish: Finish): void {
  withJson(withConfig(program.command('doctor')))
    .description('check the machine, the configuration and the data, and print remedies')
    .addHelpText('after', examples('troupe doctor', 'troupe doctor --json'))
    .action(async (options: CommonOptions) => {
      finish(await (await import('./doctor/doctor.ts')).doctor(options));
    });
}
