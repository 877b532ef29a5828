/**
 * Takes the place of erased entries in a log without an owner: a log keeps the last entry of a
 * subject. Readers skip it.
 */
import type { Address } from '../../../protocols/address.ts';
import { encodeKept, type OutItem } from './records.ts';

const ERASED_TYPE = 'erased';
const ERASED = 'default/erasure/blank' as Address;

export const encodeErased = (): Buffer =>
  encodeKept({ to: ERASED, id: ERASED_TYPE, event: { type: ERASED_TYPE }, hops: 0 });
export const isErased = ({ event }: Pick<OutItem, 'event'>): boolean => event.type === ERASED_TYPE;
