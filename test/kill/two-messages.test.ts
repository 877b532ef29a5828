/**
 * Two questions, the second sent before the run of the first has asked its model: each has a reply
 * of its own, also when the process is killed between the two.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import { runAgent } from '../../cli/chat/run-agent.ts';
import { connectTo } from './conversations.ts';
import { freePort, kill, type Program, startProgram } from './program.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-two-'));
let running: Program | undefined;

afterEach(async () => {
  if (running) await kill(running);
  running = undefined;
});
afterAll(() => {
  rmSync(data, { recursive: true, force: true });
});

const MODES = ['steer', 'followup', 'collect'] as const;
type Mode = (typeof MODES)[number];
const messagesOf = (mode: Mode, isKilled: boolean) =>
  ['[[pace:0]] the first question', '[[pace:0]] the second question'].map((message, n) => ({
    message,
    queueMode: mode,
    runId: `${mode}-${isKilled ? 'killed' : 'calm'}-${n}`,
    sessionKey: `agent:main:${mode}-${isKilled ? 'killed' : 'calm'}`,
  }));
type Sent = ReturnType<typeof messagesOf>[number];

/** Both on one connection, one behind the other: the second never waits for the first one's run. */
const accepted = (client: GatewayClient, messages: readonly Sent[]) =>
  Promise.all(
    messages.map(
      (one) =>
        new Promise<void>((resolve) => {
          // A kill ends it; the same message is sent again afterwards.
          runAgent(client, one, { onAccepted: () => resolve() }).catch(() => {});
        }),
    ),
  );

/** What each message was told. */
const answersTo = async (client: GatewayClient, messages: readonly Sent[]) => {
  const outcomes = await Promise.all(messages.map((one) => runAgent(client, one)));
  return outcomes.map(({ status, text, joined }) => ({ status, text, joined }));
};
const answer = (question: string) => ({
  status: 'ok',
  text: expect.stringContaining(question) as string,
  joined: undefined,
});
const ANSWERS = [answer('the first question'), answer('the second question')];

test.each(MODES)('in mode %s, with and without kill -9', { timeout: 120_000 }, async (mode) => {
  const port = await freePort();
  running = await startProgram(data, port);
  const client = await connectTo(running.url);
  expect(await answersTo(client, messagesOf(mode, false))).toEqual(ANSWERS);
  const messages = messagesOf(mode, true);
  await accepted(client, messages);
  await kill(running);
  client.close();
  running = await startProgram(data, port);
  const again = await connectTo(running.url);
  expect(await answersTo(again, messages)).toEqual(ANSWERS);
  again.close();
});
