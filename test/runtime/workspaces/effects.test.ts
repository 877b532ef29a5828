/** The workspaces of an effect after its end. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { setup } from 'xstate';
import { type Address, address } from '../../../protocols/address.ts';
import { effect } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/actor/define-actor.ts';
import type { EffectDefinition } from '../../../runtime/actor/effect.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { EffectRunner } from '../../../runtime/effects/runner.ts';
import type { Index, Transcripts } from '../../../runtime/system.ts';
import type { Outcome } from '../../../runtime/shard/commit/records.ts';
import { WorkspacesOfEffect } from '../../../runtime/workspaces/of-effect.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';
import type { Workspace, Workspaces } from '../../../runtime/workspaces/workspaces.ts';
import { eventually } from '../eventually.ts';
import { removeFolder, temporaryFolder } from './temporary.ts';
import { found } from './contract.ts';
import { change, patient } from './under-test.ts';

const a = address('t', 'writer', 'a');
const b = address('t', 'writer', 'b');
const cell = 'cell-1';

let folder: string;
let blobs: MemoryBlobs;
let workspaces: Workspaces;
let alarms: string[];
beforeEach(async () => {
  folder = await temporaryFolder();
  blobs = new MemoryBlobs();
  workspaces = other('own');
  alarms = [];
});
afterEach(async () => {
  await removeFolder(folder);
  if (alarms.length > 0) throw new Error(alarms.join('; '));
});

const other = (worker: string) =>
  syncedWorkspaces({ blobs, cell, cacheFolder: join(folder, worker) });

const machine = setup({ actors: { write: effect<string, null>() } }).createMachine({
  initial: 'writing',
  states: { writing: { invoke: { src: 'write', input: null } } },
});

type Attempt = { readonly runner: EffectRunner; readonly outcomes: Outcome[] };

/** Runs the effect once, as the intent of actor `a`. */
function attempt(
  definition: Partial<EffectDefinition<null, string>> & Pick<EffectDefinition<null, string>, 'run'>,
  provider: Workspaces | undefined = workspaces,
): Attempt {
  const write = { class: 'repeatable' as const, ...definition };
  const outcomes: Outcome[] = [];
  const runner = new EffectRunner({
    registry: createRegistry([
      defineActor({ type: 'writer', version: 1, machine, effects: { write } }),
    ]),
    clock: systemClock,
    cell,
    index: async () => ({}) as Index,
    row: async () => undefined,
    past: () => Promise.reject(new Error('not asked for')),
    transcripts: {} as Transcripts,
    publish: () => {},
    report: async (_actor, _intent, _attempt, outcome) => void outcomes.push(outcome),
    services: undefined,
    alarm: (what) => void alarms.push(what),
    workspaces: provider,
  });
  runner.run('intent', {
    actor: a,
    machine: 'writer@1',
    job: 'job',
    key: 'key',
    src: 'write',
    cls: 'repeatable',
    state: 'open',
    attempt: 1,
    epoch: 0,
    at: 0,
    input: null,
  });
  return { runner, outcomes };
}

const outcomeOf = ({ outcomes }: Attempt): Promise<Outcome> =>
  eventually(() => {
    if (!outcomes[0]) throw new Error('it has no outcome yet');
    return outcomes[0];
  });

const names = async (actor: Address) => Object.keys(await found(other('other'), actor));

it('a successful effect saves its files before its outcome is reported', async () => {
  const running = attempt({
    run: async (_, context) => {
      const own = await context.workspace();
      expect(await context.workspace(a)).toBe(own);
      await writeFile(join(own.path, 'own'), '');
      const foreign = await context.workspace(b);
      await writeFile(join(foreign.path, 'foreign'), '');
      return 'written';
    },
  });
  expect(await outcomeOf(running)).toEqual({ kind: 'done', output: 'written' });
  expect(await names(a)).toEqual(['own']);
  expect(await names(b)).toEqual(['foreign']);
  await (await workspaces.open(a, patient)).close(); // it was released
});

it('a failed effect saves no files', async () => {
  const running = attempt({
    run: async (_, context) => {
      const { path } = await context.workspace();
      await writeFile(join(path, 'half'), '');
      throw new Error('broken');
    },
  });
  expect(await outcomeOf(running)).toMatchObject({ kind: 'failed', error: { message: 'broken' } });
  expect(await found(workspaces, a)).toEqual({});
});

it('an effect that has ended without a workspace opens none', async () => {
  let open: (() => Promise<Workspace>) | undefined;
  const running = attempt({
    run: async (_, context) => {
      open = () => context.workspace();
      return 'done';
    },
  });
  expect(await outcomeOf(running)).toEqual({ kind: 'done', output: 'done' });
  await expect(open?.()).rejects.toThrow('the effect has ended');
});

it('an effect that declares to discard saves nothing', async () => {
  const running = attempt({
    workspace: 'discard',
    run: async (_, context) => {
      const { path } = await context.workspace();
      await writeFile(join(path, 'scratch'), '');
      return (await readdir(path)).join();
    },
  });
  expect(await outcomeOf(running)).toEqual({ kind: 'done', output: 'scratch' });
  expect(await found(workspaces, a)).toEqual({});
});

it('an effect whose workspace another one saved meanwhile fails with CONFLICT', async () => {
  const running = attempt({
    run: async (_, context) => {
      const { path } = await context.workspace();
      await writeFile(join(path, 'mine'), '');
      await change(other('other'), a, (theirs) => writeFile(join(theirs, 'theirs'), ''));
      return 'written';
    },
  });
  expect(await outcomeOf(running)).toMatchObject({ kind: 'failed', error: { code: 'CONFLICT' } });
  expect(await found(workspaces, a)).toMatchObject({ theirs: expect.any(String) });
  expect(await names(a)).toEqual(['theirs']);
});

it('work that continues after its abort has a separate folder, and the next opener does not wait', async () => {
  let workspace: Workspace | undefined;
  let goOn!: () => void;
  const aborted = new Promise<void>((resolve) => (goOn = resolve));
  let late: Promise<unknown> | undefined;
  const running = attempt({
    timeoutMs: 50,
    run: async (_, context) => {
      workspace = await context.workspace();
      await aborted; // ignores its signal
      late = writeFile(join(workspace.path, 'late'), '').catch(() => {});
      await late;
      return 'too late';
    },
  });
  expect(await outcomeOf(running)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
  const next = await workspaces.open(a, patient);
  goOn();
  await eventually(() => expect(late).toBeDefined());
  await late;
  expect(await readdir(next.path)).toEqual([]);
  await next.close();
  await expect(workspace!.save()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('an effect whose workspace is unreachable fails with UNAVAILABLE', async () => {
  const run = async (_: null, context: Parameters<EffectDefinition['run']>[1]) =>
    (await context.workspace()).path;
  const nowhere = syncedWorkspaces({
    cell,
    cacheFolder: join(folder, 'nowhere'),
    blobs: Object.assign(new MemoryBlobs(), {
      list: async () => {
        throw new Error('no connection');
      },
    }),
  });
  expect(await outcomeOf(attempt({ run }, nowhere))).toMatchObject({
    kind: 'failed',
    error: { code: 'UNAVAILABLE', message: expect.stringContaining('no connection') },
  });
});

it('an effect without a provider of workspaces fails with an error that says how to configure one', async () => {
  const none = new WorkspacesOfEffect(undefined, patient.signal);
  await expect(none.open(a)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('runtime.workspaces'),
  });
  await none.save();
});
