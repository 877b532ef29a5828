/**
 * `troupe chat`: a conversation in the terminal. Each line is a message; answers are streamed.
 *
 * A line that is typed while an answer runs is sent at once. The session steers the run with it or
 * queues it, so it is answered even if this terminal closes. A line that starts with / is a command
 * of the session. Replies that no user requested, such as those about results of subagents, are
 * printed between answers. Ctrl-C stops the running answer; a second Ctrl-C leaves the chat. If
 * stdin is a pipe, each line is a message, and the chat ends after the last answer.
 */
import { randomUUID } from 'node:crypto';
import { createInterface, type Interface } from 'node:readline';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { AnswerPrinter } from './answer-printer.ts';
import { ChatApprovals } from './chat-approvals.ts';
import { onUnrequestedReply } from './unrequested-replies.ts';
import { exitCodes } from '../exit.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { type ClientOptions, connect } from '../options.ts';
import { type RunOutcome, runAgent } from './run-agent.ts';

export type ChatOptions = ClientOptions & {
  readonly session?: string;
  readonly agent?: string;
  /** print answers by blocks instead of words */
  readonly blocks?: boolean;
};

export async function chat(options: ChatOptions): Promise<number> {
  const client = await connect(options);
  try {
    return await new Chat(client, options).run();
  } finally {
    client.close();
  }
}

const help = `/quit: leave (Ctrl-D does the same); a running answer continues
/abort: stop the running answer (Ctrl-C does the same)
`;

/** A message that was sent; `latest` is the text of its answer so far. */
type Turn = {
  readonly runId: string;
  /** messages that its run sent while an earlier answer was printed */
  readonly messages: string[];
  latest: string;
  /** with `--blocks`: how many characters of `latest` may be printed */
  whole: number;
  printer?: AnswerPrinter;
  readonly outcome: Promise<RunOutcome | { readonly failure: TroupeError }>;
};

class Chat {
  readonly #client: GatewayClient;
  readonly #options: ChatOptions;
  readonly #lines: Interface;
  readonly #approvals: ChatApprovals;
  readonly #interactive = process.stdin.isTTY;
  readonly #left = new AbortController();
  /** messages that are not answered yet, in sending order */
  readonly #turns: Turn[] = [];
  #sessionKey: string | undefined;
  #showing: Promise<void> = Promise.resolve();
  #aborted: Turn | undefined;
  #failed = false;
  /** an answer is being printed and its last line has no line end yet */
  #inLine = false;

  constructor(client: GatewayClient, options: ChatOptions) {
    this.#client = client;
    this.#options = options;
    this.#sessionKey = options.session;
    this.#approvals = new ChatApprovals(
      client,
      (sessionKey) => this.#isHere(sessionKey),
      (text) => this.#note(text),
    );
    this.#lines = createInterface({
      input: process.stdin,
      ...(this.#interactive && { output: process.stdout, prompt: '> ' }),
    });
  }

  async run(): Promise<number> {
    this.#client.watch((state) => {
      if (state.kind === 'waiting' && state.lost) this.#note('connection lost; reconnecting');
      if (state.kind === 'open') {
        this.#note('connected again');
        void this.#approvals.listAgain();
      }
      if (state.kind !== 'closed') return;
      if (state.why) {
        this.#failed = true;
        this.#note(state.why.message);
      }
      this.#leave();
    });
    this.#lines.on('SIGINT', () => this.#interrupt());
    if (!this.#interactive) process.on('SIGINT', () => this.#interrupt());
    await this.#greet();
    this.#approvals.start();
    onUnrequestedReply(
      this.#client,
      (sessionKey) => this.#isHere(sessionKey),
      ({ why, text }) => {
        this.#showing = this.#showing.then(() => this.#aside(why, text));
      },
    );
    this.#prompt();
    for await (const line of this.#lines) this.#take(line.trim());
    if (this.#interactive) this.#left.abort();
    await this.#showing;
    return this.#failed ? exitCodes.failure : exitCodes.ok;
  }

  async #greet(): Promise<void> {
    const hello = await this.#client.ready();
    const { sessionDefaults } = hello.snapshot;
    const { session, agent = sessionDefaults?.defaultAgentId } = this.#options;
    const name = session === undefined || session === 'main' ? sessionDefaults?.mainKey : session;
    if (name !== undefined)
      this.#sessionKey = name.startsWith('agent:') ? name : `agent:${agent}:${name}`;
    if (this.#interactive) this.#note(`session ${this.#sessionKey ?? 'main'}; /help for help`);
  }

  /** A full key ends with the short key that a user passes. */
  #isHere(sessionKey: string | null): boolean {
    const key = this.#sessionKey;
    return key !== undefined && (sessionKey === key || sessionKey?.endsWith(`:${key}`) === true);
  }

  #take(line: string): void {
    if (line === '/quit' || line === '/exit') return this.#leave();
    if (line === '/abort') return void this.#abort();
    if (line === '/help') process.stdout.write(help);
    if (line !== '' && !this.#approvals.take(line)) this.#send(line);
    this.#prompt();
  }

  #send(message: string): void {
    const runId = randomUUID();
    const turn: Turn = {
      runId,
      messages: [],
      latest: '',
      whole: 0,
      outcome: runAgent(
        this.#client,
        {
          message,
          runId,
          ...defined({ sessionKey: this.#options.session, agentId: this.#options.agent }),
          ...(this.#options.blocks && { blockStreaming: 'on' }),
        },
        {
          onText: (text) => {
            turn.latest = text;
            if (!this.#options.blocks) turn.printer?.show(text);
          },
          onMessage: (text) => {
            if (turn.printer) turn.printer.message(text);
            else turn.messages.push(text);
          },
          onBlock: (characters) => {
            turn.whole = characters;
            turn.printer?.show(turn.latest.slice(0, characters));
          },
          onAccepted: ({ sessionKey }) => {
            this.#sessionKey = sessionKey ?? this.#sessionKey;
          },
          signal: this.#left.signal,
        },
      ).catch((failure: TroupeError) => ({ failure })),
    };
    this.#turns.push(turn);
    this.#showing = this.#showing.then(() => this.#show(turn));
  }

  /** Prints one answer until its end. Answers are printed one after the other. */
  async #show(turn: Turn): Promise<void> {
    const printer = new AnswerPrinter((text) => {
      process.stdout.write(text);
      if (text !== '') this.#inLine = !text.endsWith('\n');
    });
    turn.printer = printer;
    for (const message of turn.messages) printer.message(message);
    printer.show(this.#options.blocks ? turn.latest.slice(0, turn.whole) : turn.latest);
    const outcome = await turn.outcome;
    this.#turns.splice(this.#turns.indexOf(turn), 1);
    if ('failure' in outcome) {
      if (this.#left.signal.aborted) return;
      this.#failed = true;
      this.#note(outcome.failure.message);
    } else if (outcome.joined !== undefined) {
      this.#note('added to the running answer');
    } else {
      printer.finish(outcome.answer, outcome.messages);
      this.#judge(outcome);
    }
    this.#prompt();
  }

  /**
   * Printed on stdout only for an interactive user: a program receives only answers to its own
   * lines.
   */
  #aside(why: string, text: string): void {
    this.#note(why);
    const { stdout, stderr } = process;
    (this.#interactive ? stdout : stderr).write(text.endsWith('\n') ? text : `${text}\n`);
    if (this.#turns.length === 0 && this.#interactive) this.#lines.prompt(true);
  }

  #judge({ status, error }: RunOutcome): void {
    if (status === 'aborted') this.#note('stopped');
    else if (status !== 'ok') {
      this.#failed = true;
      this.#note(error?.message ?? `the run ended: ${status}`);
    }
  }

  /** Ctrl-C: stops the running answer; with none, leaves the chat. */
  #interrupt(): void {
    const running = this.#turns[0];
    if (!running || this.#aborted === running) return this.#leave();
    this.#aborted = running;
    this.#note('stopping the answer; press Ctrl-C again to leave');
    void this.#abort();
  }

  async #abort(): Promise<void> {
    const running = this.#turns[0];
    if (!running || this.#sessionKey === undefined) return this.#note('nothing is running');
    try {
      const { sessionKey, runId } = { sessionKey: this.#sessionKey, runId: running.runId };
      await this.#client.request('chat.abort', { sessionKey, runId });
    } catch (error) {
      this.#note(`could not stop it: ${(error as TroupeError).message}`);
    }
  }

  #leave(): void {
    this.#left.abort();
    this.#lines.close();
  }

  #prompt(): void {
    if (this.#interactive && !this.#left.signal.aborted && this.#turns.length === 0)
      this.#lines.prompt();
  }

  /** Notes are not part of the conversation, so they are printed on stderr. */
  #note(text: string): void {
    process.stderr.write(`${this.#interactive && this.#inLine ? '\n' : ''}[${text}]\n`);
  }
}
