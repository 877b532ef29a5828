/** Migrates rows of the root that older versions wrote. */
import type { ActorDefinition } from '../../runtime/index.ts';

type Migrate = ActorDefinition['migrate'][number];

/** Version 1 had no workers. */
export const withPlacement: Migrate = (row) => ({
  ...row,
  snap: {
    ...row.snap,
    v: { ...(row.snap.v as object), placement: 'unattended' },
    c: { ...(row.snap.c as object), workers: [] },
  },
});
