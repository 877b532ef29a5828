/** Rows of agents as older versions wrote them, made to what the present one reads. */
import type { ActorDefinition } from '../../runtime/index.ts';

type Migrate = ActorDefinition['migrate'][number];

/** Version 1 knew of no money, no allowed commands and no budget of the tenant. */
export const withCosts: Migrate = (row) => ({
  ...row,
  snap: {
    ...row.snap,
    c: { ...(row.snap.c as object), costToday: 0, allowed: [], tenantSpent: null },
  },
});
