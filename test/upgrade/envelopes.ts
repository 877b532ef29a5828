/** Envelopes that a program sends over HTTP during an upgrade, and a check of each afterwards. */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { bundle } from '../../tools/build.mjs';

type Sent = { readonly envelope: { readonly idempotency_key: string }; task?: string };
type Answer = { readonly task_id: string; readonly state: string; readonly result?: unknown };

const FINISHED_MS = 180_000;

export class Envelopes {
  readonly sent: Sent[] = [];
  readonly #url: () => string;
  readonly #token: string;

  /** @param data folder of a gateway, whose key signs the token */
  constructor(data: string, url: () => string) {
    const args = ['--tenant', 'conformance', '--sub', 'ann', '--roles', 'writer', '--ttl', '1h'];
    this.#token = execFileSync(process.execPath, [bundle, 'token', ...args, '--data', data], {
      encoding: 'utf8',
    }).trim();
    this.#url = url;
  }

  /** Sends one after the other, each until it is answered: the documented way of a client. */
  async load(enough: AbortSignal): Promise<void> {
    while (!enough.aborted) {
      const one: Sent = { envelope: envelopeOf(this.sent.length) };
      this.sent.push(one);
      await this.#send(one);
      await pause(250);
    }
  }

  /** Each has one task, whichever version is asked, and it succeeded with its own text. */
  async account(): Promise<void> {
    for (const [n, one] of this.sent.entries()) {
      const { task } = one;
      const answer = await this.#send(one);
      matches(answer, {
        task_id: task,
        state: 'SUCCEEDED',
        result: { text: textOf(n) },
      });
    }
    const tasks = new Set(this.sent.map(({ task }) => task));
    matches({ tasks: tasks.size }, { tasks: this.sent.length });
  }

  async #send(one: Sent): Promise<Answer> {
    for (const until = Date.now() + FINISHED_MS; ; ) {
      const answer = await this.#post(one);
      if (answer) {
        one.task ??= answer.task_id;
        if (answer.state === 'SUCCEEDED') return answer;
      }
      if (Date.now() > until)
        throw new Error(`an envelope was not answered: ${JSON.stringify(answer)}`);
      await pause(200);
    }
  }

  /** undefined: the gateway is being replaced, or asks to send it again. */
  async #post({ envelope }: Sent): Promise<Answer | undefined> {
    const sent = await fetch(`${this.#url().replace(/^ws/, 'http')}/v1/envelopes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify(envelope),
    }).catch(() => undefined);
    if (!sent || sent.status === 503 || sent.status === 429) return undefined;
    const body = await sent.text();
    if (sent.status > 202) throw new Error(`${sent.status}: ${body}`);
    return JSON.parse(body) as Answer;
  }
}

const matches = (found: object, wanted: object): void => expect(found).toMatchObject(wanted);

const textOf = (n: number): string => `text ${n}`;

const envelopeOf = (n: number) => ({
  version: '1.0',
  request_id: randomUUID(),
  correlation_id: randomUUID(),
  causation_id: null,
  trace_id: randomBytes(16).toString('hex'),
  tenant_id: 'conformance',
  principal: { sub: 'ann', roles: ['writer'] },
  timestamp: new Date().toISOString(),
  ttl_sec: 3_600,
  idempotency_key: randomUUID(),
  seq: Date.now(),
  action: 'conformance.echo_payload',
  action_version: '1.0.0',
  payload: { schema_version: '1.0', text: textOf(n) },
});
