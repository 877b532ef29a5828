/**
 * Two questions, the second sent before the first run has called its model. Each question receives
 * its own reply, also when the process is killed after both were accepted.
 */
import { afterEach, expect, test } from 'vitest';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { runAgent } from '../../../cli/chat/run-agent.ts';
import { TestProgram } from '../test-program.ts';

const program = new TestProgram();
afterEach(() => program.kill());

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

/** Sends all messages on one connection without waiting for the run of an earlier one. */
const accepted = (client: GatewayClient, messages: readonly Sent[]) =>
  Promise.all(
    messages.map(
      (one) =>
        new Promise<void>((resolve) => {
          // The kill rejects it; the test sends the same message again afterwards.
          runAgent(client, one, { onAccepted: () => resolve() }).catch(() => {});
        }),
    ),
  );

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

test.each(MODES)(
  'two questions in mode %s have a reply each, also after a kill',
  {
    timeout: 120_000,
  },
  async (mode) => {
    await program.start();
    const client = await program.connect();
    expect(await answersTo(client, messagesOf(mode, false))).toEqual(ANSWERS);
    const messages = messagesOf(mode, true);
    await accepted(client, messages);
    await program.kill();
    await program.start();
    expect(await answersTo(await program.connect(), messages)).toEqual(ANSWERS);
  },
);
