/**
 * Run it with `node tools/run.mjs examples/tools/main.ts`: starts troupe with an additional tool
 * and asks a question that only this tool can answer. The offline model calls it like a real one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type RunRow, sessionAddress, startTroupe, type Troupe } from 'troupe/agents';
import { postage } from './postage.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-tools-'));
const troupe = await startTroupe({
  data,
  port: 0,
  env: {},
  settings: { log: { level: 'warn' } },
  tools: [postage],
});
try {
  for (const question of [
    'call postage {"kilograms": 2.4, "country": "VN"}',
    'call postage {"kilograms": 2.4, "country": "FR"}',
  ])
    console.log(await answerTo(troupe, question));
} finally {
  await troupe.stop();
  rmSync(data, { recursive: true, force: true });
}

/** Sends one message to the main session and waits for the end of its run. */
async function answerTo({ system }: Troupe, text: string): Promise<string | undefined> {
  const runId = crypto.randomUUID();
  await system.ask(
    sessionAddress('default', 'agent:main:main'),
    { type: 'session.receive', runId, text },
    { principal: { sub: 'ada', roles: [] }, key: runId, timeoutMs: 10_000 },
  );
  for (;;) {
    const run = system.index.get<RunRow>('runs', 'default', runId);
    if (run?.endedAt !== undefined) return run.text ?? run.error?.message;
    await setTimeout(50);
  }
}
