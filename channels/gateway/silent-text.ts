/**
 * Silent text: an answer that says that there is none (AL7), as it comes in piece by piece. Pure.
 */
const SILENT = 'NO_REPLY';
/** What usually stands around it. */
const EDGES = /^[\s*_`"'(]+|[\s*_`"'.:,)-]+$/g;

const coreOf = (text: string): string => text.replaceAll(EDGES, '');

export const isSilent = (text: string): boolean => coreOf(text) === SILENT;

/** So far it may become one: watchers are not told before it is known. */
export const maySilence = (text: string): boolean => text !== '' && SILENT.startsWith(coreOf(text));
