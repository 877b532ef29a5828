/** Rows of the root as older versions wrote them, made to what the present one reads. */
import type { ActorDefinition } from '../../runtime/index.ts';

type Migrate = ActorDefinition['migrate'][number];

/** Version 1 knew of no workers. */
export const withPlacement: Migrate = (row) => ({
  ...row,
  snap: {
    ...row.snap,
    v: { ...(row.snap.v as object), placement: 'unattended' },
    c: { ...(row.snap.c as object), workers: [] },
  },
});
