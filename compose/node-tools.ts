/** The agents' tools for devices, with the bucket where devices' long answers are. */
import { createNodeTools } from '../actors/agent/tools/nodes.ts';
import type { Tool } from '../actors/agent/tools/tool.ts';
import type { Config } from '../runtime/config/index.ts';
import type { Artifacts } from '../runtime/index.ts';
import { openArtifacts } from './artifacts.ts';

export function nodeToolsOf(config: Config): readonly Tool[] {
  // Opened when the first long answer is read: most processes never do.
  let bucket: Promise<Artifacts> | undefined;
  return createNodeTools({
    async file(tenant, hash) {
      bucket ??= openArtifacts(config);
      const { contents } = await (await bucket).get(tenant, hash);
      return Buffer.from(contents).toString('utf8');
    },
  });
}
