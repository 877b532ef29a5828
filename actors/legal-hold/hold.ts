/** Hold: the pure parts of the chart of a legal hold. */
import {
  erasureKey,
  LEGAL_HOLDS_INDEX,
  type LegalHoldRelease,
  type LegalHoldRow,
  type LegalHoldSet,
} from '../../protocols/erasure.ts';
import type { ActorInput, Delivered, Project, Reply } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type HoldContext = LegalHoldRow;
export type HoldEvent = Delivered<LegalHoldSet> | Delivered<LegalHoldRelease>;
type Args = ActionArgs<HoldContext, HoldEvent>;
const { on } = handlersOf<HoldContext, HoldEvent>();

export const initialContext = ({ now }: ActorInput): HoldContext => ({
  kind: 'session',
  id: '',
  why: '',
  who: '',
  since: now,
});

export const note = on(
  'hold.set',
  ({ event: { kind, id, why, who, meta } }): HoldContext => ({
    kind,
    id,
    why,
    who,
    since: meta.now,
  }),
);
export const row = ({ context }: Args): Project => ({
  index: LEGAL_HOLDS_INDEX,
  key: erasureKey(context),
  value: context,
});
export const noRow = ({ context }: Args): Project => ({ ...row({ context } as Args), value: null });
export const answer = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: context,
});
export const released = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  result: { released: true },
});
export const isNotHeld = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: { code: 'NOT_FOUND', message: 'there is no such legal hold' },
});
