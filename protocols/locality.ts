/** Locality: where the data of an envelope may be processed and stored (`data_locality`). */
import { defined } from './defined.ts';
import { TroupeError } from './errors.ts';

/** The label for the locality of a worker. */
export const LOCALITY_LABEL = 'locality';

/** Names of locations are compared case-insensitively. */
export const isSamePlace = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && a.toLowerCase() === b?.toLowerCase();

/**
 * @throws TroupeError UNAVAILABLE when the location of the files is unknown; FORBIDDEN when it is
 * another location
 */
export function checkArtifactsLocality(
  wanted: string | undefined,
  { artifactsLocality: ours }: { readonly artifactsLocality?: string | undefined },
): void {
  if (wanted === undefined || isSamePlace(wanted, ours)) return;
  const details = { data_locality: wanted, ...defined({ locality: ours }) };
  if (ours === undefined)
    throw new TroupeError(
      'UNAVAILABLE',
      `the location of the bucket is unknown, but ${wanted} is required: set a2a.artifacts.locality`,
      { details },
    );
  throw new TroupeError(
    'FORBIDDEN',
    `the data must be stored in ${wanted}, but the files of this cell are in ${ours}`,
    { details },
  );
}
