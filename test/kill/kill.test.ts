/**
 * kill -9 of the running program at random moments under load, again and again, and an account of
 * every message afterwards: what was accepted was answered exactly once, what was repeated got the
 * first result. `TROUPE_KILLS=100` kills more often; a failing run prints its seed
 * (`TROUPE_KILL_SEED`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { GatewayClient } from '../../cli/gateway-client.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { freePort, kill, type Program, startProgram, TOKEN } from './program.ts';

const KILLS = Number(process.env['TROUPE_KILLS'] ?? 30);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const SESSIONS = 6;
/**
 * A kill comes so long after the program was ready, at most: in the middle of answers of about 150
 * words.
 */
const KILL_WITHIN_MS = 600;
const MESSAGE = 'Tell me something. [[words:60]] [[pace:300]]';

const data = mkdtempSync(join(tmpdir(), 'troupe-kill-'));
let running: Program | undefined;

afterAll(async () => {
  if (running) await kill(running);
  rmSync(data, { recursive: true, force: true });
});

/** Mulberry32: small, and the same on every machine. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Sent = { readonly session: string; readonly runId: string; accepted: boolean };

const connectTo = (program: Program) =>
  GatewayClient.connect({ url: program.url, token: TOKEN, reconnect: false });

const sessionKeyOf = (n: number) => `agent:main:kill-${n}`;

/**
 * Sends until the connection breaks, as many messages as the sessions take; a refusal is no
 * acceptance.
 */
async function load(client: GatewayClient, sent: Sent[], random: () => number): Promise<void> {
  for (let n = 0; ; n++) {
    const message = {
      session: sessionKeyOf(Math.floor(random() * SESSIONS)),
      runId: `run-${SEED}-${sent.length}-${n}`,
      accepted: false,
    };
    sent.push(message);
    try {
      await client.request('chat.send', {
        sessionKey: message.session,
        message: MESSAGE,
        idempotencyKey: message.runId,
      });
      message.accepted = true;
    } catch (error) {
      if (client.state.kind !== 'open') return;
      if (!(error instanceof TroupeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 60));
  }
}

/**
 * Sends again, under the same key, what got no answer: a client may do that as often as it likes.
 */
async function repeatUnanswered(client: GatewayClient, sent: Sent[]): Promise<void> {
  for (const message of sent.filter(({ accepted }) => !accepted)) {
    for (;;) {
      try {
        await client.request('chat.send', {
          sessionKey: message.session,
          message: MESSAGE,
          idempotencyKey: message.runId,
        });
        message.accepted = true;
        break;
      } catch (error) {
        if (!isBusy(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }
}

/** The session's queue is full: nothing was accepted, and the client tries again later. */
const isBusy = (error: unknown) => error instanceof TroupeError && /limit/.test(error.message);

test(`${KILLS} kills -9 under load lose nothing and double nothing (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  const port = await freePort();
  const sent: Sent[] = [];
  for (let round = 0; round < KILLS; round++) {
    running = await startProgram(data, port);
    const client = await connectTo(running);
    const loading = load(client, sent, random);
    await new Promise((resolve) => setTimeout(resolve, random() * KILL_WITHIN_MS));
    await kill(running);
    running = undefined;
    await loading;
    client.close();
  }
  running = await startProgram(data, port);
  const client = await connectTo(running);
  await repeatUnanswered(client, sent);
  expect(sent.length).toBeGreaterThan(KILLS);
  for (const { runId } of sent) {
    const ended = await client.request(
      'agent.wait',
      { runId, timeoutMs: 120_000 },
      { timeoutMs: 130_000 },
    );
    expect({ runId, status: ended.status }).toEqual({ runId, status: 'ok' });
  }
  for (let n = 0; n < SESSIONS; n++) await account(client, sessionKeyOf(n), sent);
  client.close();
});

/**
 * Every accepted message stands once in the transcript, with one answer; in the order it was
 * accepted.
 */
async function account(
  client: GatewayClient,
  sessionKey: string,
  sent: readonly Sent[],
): Promise<void> {
  const mine = sent.filter(({ session }) => session === sessionKey).map(({ runId }) => runId);
  const entries = await transcriptOf(client, sessionKey);
  const runsOf = (role: string) =>
    entries.filter((entry) => entry.role === role).map((entry) => entry.runId);
  expect(runsOf('user').toSorted(), `messages of ${sessionKey}`).toEqual(mine.toSorted());
  expect(runsOf('assistant').toSorted(), `answers of ${sessionKey}`).toEqual(mine.toSorted());
  for (const { text, role } of entries) {
    if (role === 'assistant')
      expect(text.split(/\s+/).filter(Boolean).length).toBeGreaterThanOrEqual(60);
  }
}

type Line = { readonly role: string; readonly runId: string; readonly text: string };

async function transcriptOf(client: GatewayClient, sessionKey: string): Promise<Line[]> {
  const lines: Line[] = [];
  for (let offset = 0; ; ) {
    const page = await client.request('chat.history', { sessionKey, limit: 1_000, offset });
    const read = page.messages.map(
      (message) =>
        message as unknown as { role: string; runId?: string; content: { text?: string }[] },
    );
    for (const { role, runId, content } of read) {
      lines.push({
        role,
        runId: runId ?? '',
        text: content.map((part) => part.text ?? '').join(''),
      });
    }
    offset += read.length;
    if (!page.hasMore || read.length === 0) return lines;
  }
}
