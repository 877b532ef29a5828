/**
 * `GET /openapi.json` and `GET /asyncapi.json`: descriptions of this entry point, derived from the
 * schemas that check requests. Without a token they list the built-in actions; with a token, the
 * actions that are offered to its tenant, including those of external agents.
 */
import { RESOURCES } from '../../operations/index.ts';
import { operationPaths } from '../../operations/openapi.ts';
import { asyncApi } from '../../protocols/openapi/asyncapi.ts';
import type { ActionSpec } from '../../protocols/action.ts';
import { openApi } from '../../protocols/openapi/openapi.ts';
import type { Identity } from '../edge/edge.ts';
import type { Offers } from '../../protocols/offers.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, type RouteRequest, sendJson } from './route.ts';

export type DocumentRoutesOptions = {
  /** the built-in actions */
  readonly specs: readonly ActionSpec[];
  readonly offers: Pick<Offers, 'all'>;
  readonly identity: Pick<Identity, 'authenticate'>;
  /** troupe's version */
  readonly version: string;
  /** the cell's environment, as in its NATS subjects */
  readonly env: string;
  readonly publicUrl: () => string;
};

const FOR_ALL = { 'cache-control': 'public, max-age=60' };

export const documentRoutes = (options: DocumentRoutesOptions): readonly Route[] => {
  const { version, env, publicUrl } = options;
  const paths = operationPaths(RESOURCES);
  const documents: Readonly<Record<string, (specs: readonly ActionSpec[]) => object>> = {
    '/openapi.json': (specs) => openApi({ version, url: publicUrl(), specs, paths }),
    '/asyncapi.json': (specs) => asyncApi({ version, env, specs }),
  };
  return Object.entries(documents).map(([path, documentOf]) => {
    const forAll = remembered(() => documentOf(options.specs), publicUrl);
    return {
      method: 'GET',
      path,
      handle: async (incoming) => {
        const specs = await specsFor(options, incoming);
        if (specs === undefined) sendJson(incoming.response, 200, forAll(), FOR_ALL);
        else sendJson(incoming.response, 200, documentOf(specs));
      },
    };
  });
};

/** @throws TroupeError UNAUTHORIZED for an invalid token */
async function specsFor(
  { identity, offers }: DocumentRoutesOptions,
  incoming: RouteRequest,
): Promise<readonly ActionSpec[] | undefined> {
  const credentials = credentialsOf(incoming);
  if (credentials.authorization === undefined) return undefined;
  const { tenant } = await identity.authenticate(credentials);
  return offers.all(tenant);
}

/** Caches a document until its key changes: the address is known only once the gateway listens. */
function remembered<T>(make: () => T, keyOf: () => string): () => T {
  let last: { readonly key: string; readonly value: T } | undefined;
  return () => {
    const key = keyOf();
    if (last?.key !== key) last = { key, value: make() };
    return last.value;
  };
}
