/** AnyKey: the key of a `Type.Record` whose keys are free and whose values are checked. */
import { Type } from '@sinclair/typebox';

/**
 * TypeBox gives a key without a pattern the pattern `^(.*)$`, whatever its lengths are. That leaves
 * the values of keys with line breaks unchecked; this key does not.
 */
export const AnyKey = Type.String({ pattern: String.raw`^[\s\S]*$` });
