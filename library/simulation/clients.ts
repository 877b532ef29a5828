/** Clients: virtual clients that send messages and wait for the answers, in virtual time. */
import { parseAddress } from '../../protocols/address.ts';
import { errorData } from '../../protocols/errors.ts';
import { checkMessage, checkPrincipal } from '../../runtime/shard/turn/validate-message.ts';
import type { AskAnswer } from '../../runtime/system.ts';
import type { RunPort } from './run-parts.ts';
import type { SimulatedMessage } from './world.ts';

const TIMEOUT_MS = 30_000;
/** Pause of a client that reaches no process, or received no answer. */
const AGAIN_MS = 500;
const RETRIES = 2;
const PRINCIPAL = { sub: 'test', roles: [] };

/**
 * Why no client can send the message: such a message would be refused in each run, and a rule that
 * holds without it would hold by mistake. @param types of the registered actors
 */
export function messageFault(
  { at = 0, to, event, principal }: SimulatedMessage,
  types: ReadonlySet<string>,
): string | undefined {
  if (!(Number.isFinite(at) && at >= 0)) return `its time is ${at}, not a number of milliseconds`;
  try {
    const { type } = parseAddress(to);
    checkMessage(event);
    if (principal !== undefined) checkPrincipal(principal);
    return types.has(type)
      ? undefined
      : `no actor has the type '${type}': ${[...types].join(', ')}`;
  } catch (error) {
    return (error as Error).message;
  }
}

export class Clients {
  /** requests that are not answered or given up yet, and those that are still to be sent */
  waiting = 0;
  readonly #run: RunPort;

  constructor(run: RunPort) {
    this.#run = run;
  }

  /** A client sends the message at its time, and again if a fault says so. */
  send(name: string, message: SimulatedMessage): void {
    const { faults, clock } = this.#run;
    const { at = 0 } = message;
    const fault = faults.at(name, 'delay', 'repeat');
    const inMs = at - clock.monotonicMs();
    if (fault?.kind === 'delay') {
      this.#later(inMs + fault.ms, async () => {
        this.#run.say({ kind: 'fault', fault, what: `${name} was delayed by ${fault.ms} ms` });
        await this.#deliver(name, message);
      });
      return;
    }
    this.#later(inMs, () => this.#deliver(name, message));
    if (!fault) return;
    this.#later(inMs + fault.ms, async () => {
      this.#run.say({ kind: 'fault', fault, what: `the client sends ${name} again` });
      await this.#deliver(`${name} again`, message);
    });
  }

  #later(ms: number, call: () => Promise<void>): void {
    this.waiting++;
    this.#run.clock.after(ms, () => void call().finally(() => this.waiting--));
  }

  async #deliver(name: string, message: SimulatedMessage): Promise<void> {
    const { retries = message.key === undefined ? 0 : RETRIES } = message;
    this.#run.say({ kind: 'send', name, message });
    for (let left = retries; ; left--) {
      const answer = await this.#ask(message);
      const isFinal = answer.kind === 'answered' || left <= 0 || !mayRetry(answer);
      if (isFinal) {
        this.#run.world.answers.push({ message, answer, at: this.#run.world.nowMs });
        return this.#run.say({ kind: 'answer', name, answer: shown(answer) });
      }
      await this.#run.clock.sleep(AGAIN_MS);
    }
  }

  /** A dead process does not answer: the client's own time limit ends the wait. */
  async #ask({ to, event, key, timeoutMs = TIMEOUT_MS, principal }: SimulatedMessage) {
    const { clock } = this.#run;
    while (!this.#run.system) {
      if (this.#run.isOver) break;
      await clock.sleep(AGAIN_MS);
    }
    const late = clock.sleep(timeoutMs + 1).then((): AskAnswer => ({ kind: 'timeout' }));
    const options = { principal: principal ?? PRINCIPAL, timeoutMs, ...(key && { key }) };
    const asked = this.#run.system
      ?.ask(to, event, options)
      .catch((error: unknown): AskAnswer => ({ kind: 'refused', error: errorData(error) }));
    return Promise.race([late, ...(asked ? [asked] : [])]);
  }
}

const mayRetry = (answer: AskAnswer): boolean =>
  answer.kind === 'timeout' ||
  (answer.kind === 'refused' &&
    ['UNAVAILABLE', 'RATE_LIMIT_EXCEEDED', 'DEADLINE_EXCEEDED'].includes(answer.error.code));

const shown = (answer: AskAnswer): string => {
  switch (answer.kind) {
    case 'answered':
      return JSON.stringify(answer.result) ?? 'answered';
    case 'refused':
      return `refused: ${answer.error.code} ${answer.error.message}`;
    default:
      return 'no answer in time';
  }
};
