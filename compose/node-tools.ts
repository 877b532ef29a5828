/** The agents' tools for devices, with the bucket that stores the devices' long answers. */
import { createNodeTools } from '../agent/tools/nodes/nodes.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { Artifacts } from '../runtime/index.ts';

/** The bucket of this process, which is opened after its tools are created. */
export class LateBucket {
  readonly artifacts: Promise<Artifacts>;
  #resolve: (artifacts: Artifacts) => void = () => {};

  constructor() {
    this.artifacts = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(artifacts: Artifacts): void {
    this.#resolve(artifacts);
  }
}

export function nodeToolsOf(bucket: LateBucket): readonly Tool[] {
  return createNodeTools({
    async file(tenant, hash) {
      const { contents } = await (await bucket.artifacts).get(tenant, hash);
      return Buffer.from(contents).toString('utf8');
    },
  });
}
