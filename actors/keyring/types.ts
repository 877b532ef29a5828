/** The context of a keyring. */
import type {
  KeyringAdd,
  KeyringRevoke,
  KeyringRotate,
  KeyRow,
} from '../../protocols/security/keyring.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type KeyringContext = {
  /** by kid; at most KEYS_MAX */
  readonly keys: Readonly<Record<string, KeyRow>>;
  /** kids whose index rows are outdated */
  readonly changed: readonly string[];
};

export type KeyringEvent =
  | Delivered<KeyringAdd>
  | Delivered<KeyringRotate>
  | Delivered<KeyringRevoke>;

export type Args = ActionArgs<KeyringContext, KeyringEvent>;
export const { on } = handlersOf<KeyringContext, KeyringEvent>();
