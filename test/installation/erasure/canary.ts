/** A session whose every kind of data has a canary, and the search for it in all files. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { erasureAddress, type ErasureRow, type ErasureTarget } from '../../../protocols/erasure.ts';
import { scheduleAddress } from '../../../protocols/schedule.ts';
import { address } from '../../../protocols/address.ts';
import type { System } from '../../../runtime/index.ts';
import type { install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';

/** Sessions of people may start subagents. */
export const OPEN_CONFIG = { agents: { defaults: { sandbox: { mode: 'none' } } } };
export const OPERATOR = { sub: 'ada', roles: ['operator'] };
export type Troupe = Awaited<ReturnType<typeof install>>;

const filesBelow = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isDirectory() ? filesBelow(path) : [path];
  });

/** Files below the data folder that contain the text. */
export const filesWith = (data: string, text: string): string[] =>
  filesBelow(data).filter((file) => {
    try {
      return readFileSync(file).includes(text);
    } catch {
      return false;
    }
  });

/** A run with one call of a tool; a subagent's end is another run. */
export async function callTool(troupe: Troupe, key: string, tool: string, args: object) {
  const runId = await troupe.send(key, `call ${tool} ${JSON.stringify(args)}`);
  expect(await troupe.rowAtEnd(runId)).toMatchObject({ status: 'ok' });
}

/** Puts the canary into everything that a session can write. */
export async function fillSession(troupe: Troupe, key: string, canary: string, sender?: string) {
  const more = sender === undefined ? {} : { sender };
  await troupe.run(key, `the user says ${canary}-message`, more);
  await callTool(troupe, key, 'write', {
    path: `${canary.slice(0, 6)}.txt`,
    content: `${canary}-file`,
  });
  await callTool(troupe, key, 'read', { path: `${canary.slice(0, 6)}.txt` });
  await callTool(troupe, key, 'write', {
    path: `memory/${canary.slice(0, 6)}.md`,
    content: `${canary}-note`,
  });
  await callTool(troupe, key, 'sessions_spawn', { task: `say ${canary}-task`, wait: true });
  const { system } = troupe;
  const session = address('default', 'session', key);
  await ask(system, session, { type: 'session.set', label: `${canary}-title` });
  await ask(system, scheduleAddress('default', `job-${canary.slice(0, 6)}`), {
    type: 'schedule.put',
    job: {
      agentId: 'main',
      sessionKey: key,
      when: { kind: 'every', everyMs: 86_400_000 },
      text: `${canary}-schedule`,
    },
  });
  await ask(system, session, { type: 'sys.quarantine', why: 'to make a letter' });
  await system.tell(
    session,
    { type: 'session.receive', text: `${canary}-letter`, runId: `letter-${canary}` },
    { principal: OPERATOR },
  );
  await eventually(async () => expect(await lettersTo(system, session)).toBe(1));
  await ask(system, session, { type: 'sys.resume' });
}

export const lettersTo = async (system: System, to: string): Promise<number> =>
  (await system.deadLetters.list()).filter((letter) => letter.to === to).length;

export async function ask(
  system: System,
  to: ReturnType<typeof address>,
  message: { type: string; [name: string]: unknown },
): Promise<unknown> {
  const answer = await system.ask(to, message, { principal: OPERATOR, timeoutMs: 20_000 });
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer));
  return answer.result;
}

/** Requests an erasure, and waits for its end. */
export async function erase(system: System, target: ErasureTarget): Promise<ErasureRow> {
  const { kind, id } = target;
  await ask(system, erasureAddress(target), { type: 'erasure.request', kind, id, who: 'ada' });
  return erased(system, target);
}

export const erased = (system: System, { tenant, kind, id }: ErasureTarget): Promise<ErasureRow> =>
  eventually(() => {
    const row = system.index.get<ErasureRow>('erasures', tenant, `${kind}:${id}`);
    expect(row).toMatchObject({ state: 'done' });
    return row!;
  }, 30_000);
