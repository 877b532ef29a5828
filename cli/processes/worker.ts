/**
 * `troupe worker`: owns a share of a cluster's shards, and runs their model calls and tools. It
 * listens on no port. At a signal it hands its shards over before it stops.
 */
import { runNode } from './node.ts';
import type { CommonOptions } from '../options.ts';
import { version } from '../version.ts';

export function worker(options: CommonOptions): Promise<number> {
  return runNode(options, {
    start: async (config, how) => (await import('../../main.ts')).startWorker(config, how),
    ready: ({ name }) => `troupe ${version}: the worker ${name} is ready`,
  });
}
