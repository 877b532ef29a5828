/**
 * Loads the machines of a user's own module: what it exports as actor definitions (`defineActor`)
 * or as XState machines, alone or in arrays. The module may be TypeScript; esbuild bundles it with
 * the files that it imports, and packages are imported from where it is.
 *
 * Boundary: it executes the module, and for a moment writes the bundle beside it.
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { errorData, TroupeError } from '../protocols/errors.ts';
import type { ActorDefinition } from '../runtime/index.ts';

export type ChartSource = {
  readonly type: string;
  readonly version: number;
  readonly machine: AnyStateMachine;
  /** what `defineActor` returned, if it was that */
  readonly definition?: ActorDefinition;
};

/**
 * In the order of the exports. @throws TroupeError NOT_FOUND without the file, INVALID_ARGUMENT
 * when it cannot be loaded or exports no machine
 */
export async function chartsIn(file: string): Promise<readonly ChartSource[]> {
  const path = resolve(file);
  if (!existsSync(path)) throw new TroupeError('NOT_FOUND', `there is no file ${path}`);
  const exported = await exportsOf(path).catch((error: unknown) => {
    const why = errorData(error).message;
    throw new TroupeError('INVALID_ARGUMENT', `${path} could not be loaded: ${why}`);
  });
  const sources = new Map(
    Object.values(exported)
      .flat()
      .flatMap(sourceOf)
      .map((source): [unknown, ChartSource] => [source.machine, source]),
  );
  if (sources.size > 0) return [...sources.values()];
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} exports no actor definition and no machine: export what defineActor or createMachine returns`,
  );
}

async function exportsOf(path: string): Promise<Record<string, unknown>> {
  const { build, stop } = await import('esbuild');
  const outfile = join(dirname(path), `.${basename(path)}.${process.pid}.mjs`);
  try {
    await build({
      entryPoints: [path],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      logLevel: 'silent',
    });
    return (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as Record<
      string,
      unknown
    >;
  } finally {
    await stop();
    rmSync(outfile, { force: true });
  }
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** By shape: the module may have its own copy of XState. */
const isMachine = (value: unknown): value is AnyStateMachine =>
  isTable(value) &&
  isTable(value['root']) &&
  isTable(value['config']) &&
  'implementations' in value;

/** By shape, too. */
const isDefinition = (value: Record<string, unknown>): value is ActorDefinition =>
  isTable(value['effects']) && isTable(value['mailbox']) && typeof value['hash'] === 'string';

function sourceOf(value: unknown): ChartSource[] {
  if (isMachine(value)) return [{ type: value.id, version: 1, machine: value }];
  if (!isTable(value) || !isMachine(value['machine'])) return [];
  const { type = value['machine'].id, version = 1, machine } = value;
  const source = { type: String(type), version: Number(version), machine };
  return [isDefinition(value) ? { ...source, definition: value } : source];
}
