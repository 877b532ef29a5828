/** Forks a conversation at a turn, and shows where a fork comes from. Loaded with the first use. */
import { useState } from 'preact/hooks';
import type { ForkPoint } from '../../protocols/session-fork.ts';
import { Icon } from '../icons.tsx';
import { linkTo, shortKey } from './agents-talk.ts';
import { keepDraft } from './drafts.ts';
import { newId } from './outbox.ts';
import { related } from './related-strings.ts';

export const forkText = ({ key, turn }: ForkPoint): string =>
  related.forkedFrom(shortKey(key), turn);

type Request = <Result>(method: string, params: object) => Promise<Result>;

/** A request without an answer is repeated under the same key, so that it makes one fork. */
const unanswered = new Map<string, string>();

/** Opens the fork. @param draft what its message field contains. @throws TroupeError */
export async function forkAndOpen(request: Request, at: ForkPoint, draft = ''): Promise<void> {
  const name = `${at.key} ${at.turn}`;
  const idempotencyKey = unanswered.get(name) ?? newId();
  unanswered.set(name, idempotencyKey);
  const { key } = await request<{ readonly key: string }>('operations.run', {
    name: 'sessions.fork',
    params: at,
    idempotencyKey,
  });
  unanswered.delete(name);
  keepDraft(key, { text: draft, images: [] });
  location.hash = linkTo(key);
}

/** Of an answer: the fork ends with it. Of a message: the fork ends before it, to write another. */
export const ForkButton = (props: { at: ForkPoint; request: Request; message?: string }) => {
  const { at, request, message } = props;
  const [failure, setFailure] = useState<string>();
  const name = message === undefined ? related.forkHere : related.forkBefore;
  const fork = () => {
    setFailure(undefined);
    forkAndOpen(request, at, message).catch((error: Error) => setFailure(error.message));
  };
  return (
    <>
      <button type="button" class="quiet" aria-label={name} title={name} onClick={fork}>
        <Icon name="fork" />
      </button>
      {failure !== undefined && (
        <span class="failed" role="alert">
          {failure}
        </span>
      )}
    </>
  );
};

/** In a fork: a link to the session that it is forked from. */
export const ForkLink = ({ from }: { from: ForkPoint }) => (
  <li class="note">
    <a href={linkTo(from.key)}>{forkText(from)}</a>
  </li>
);

/** In the list of conversations. */
export const ForkMark = ({ from }: { from: ForkPoint }) => (
  <span class="forked" role="img" aria-label={forkText(from)} title={forkText(from)}>
    <Icon name="fork" />
  </span>
);
