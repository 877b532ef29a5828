/**
 * Asks in the terminal of `troupe chat` about commands that wait for an approval. Only approvals of
 * the chat's own session are shown. The gateway determines which decision counted.
 */
import type { TroupeError } from '../../protocols/errors.ts';
import type { ExecApproval, ExecDecision } from '../../protocols/gateway/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';

const answers: Readonly<Record<string, ExecDecision | undefined>> = {
  y: 'allow-once',
  yes: 'allow-once',
  a: 'allow-always',
  always: 'allow-always',
  n: 'deny',
  no: 'deny',
};

export class ChatApprovals {
  readonly #client: GatewayClient;
  readonly #isOurs: (sessionKey: string | null) => boolean;
  readonly #note: (text: string) => void;
  /** oldest first; the first one is shown as a question */
  readonly #open: ExecApproval[] = [];

  constructor(
    client: GatewayClient,
    isOurs: (sessionKey: string | null) => boolean,
    note: (text: string) => void,
  ) {
    this.#client = client;
    this.#isOurs = isOurs;
    this.#note = note;
  }

  /** Subscribes, and requests the approvals that are already pending. */
  start(): void {
    this.#client.on('exec.approval.requested', (approval) => this.#add(approval));
    this.#client.on('exec.approval.resolved', ({ id, decision, resolvedBy }) => {
      const at = this.#open.findIndex((each) => each.id === id);
      if (at < 0) return;
      this.#open.splice(at, 1);
      this.#note(decision === null ? 'expired' : `${decision} by ${resolvedBy}`);
      if (at === 0) this.#ask();
    });
    void this.listAgain();
  }

  /** After a reconnect: approvals that were requested in the meantime. */
  async listAgain(): Promise<void> {
    try {
      for (const approval of await this.#client.request('exec.approval.list', {})) {
        this.#add(approval);
      }
    } catch {
      // Without the scope, or without a connection, another operator decides.
    }
  }

  /** Uses the line as the decision if a question is open. Returns whether it was. */
  take(line: string): boolean {
    const [first] = this.#open;
    const decision = answers[line.toLowerCase()];
    if (first === undefined || decision === undefined) return false;
    this.#client
      .request('exec.approval.resolve', { id: first.id, decision })
      .catch((error: TroupeError) => this.#note(error.message));
    return true;
  }

  #add(approval: ExecApproval): void {
    const isKnown = this.#open.some(({ id }) => id === approval.id);
    if (isKnown || !this.#isOurs(approval.request.sessionKey)) return;
    this.#open.push(approval);
    if (this.#open.length === 1) this.#ask();
  }

  #ask(): void {
    const [first] = this.#open;
    if (first === undefined) return;
    const { command, detail } = first.request;
    const more = detail === '' ? '' : `\n  ${detail.replaceAll('\n', '\n  ')}`;
    this.#note(`allow this command?  ${command}${more}\n  y once, a always, n no`);
  }
}
