/** The turns of a replay file, which a failing simulation has written (`docs/testing.md`). */
import { useMemo, useState } from 'preact/hooks';
import { replayOf } from './replay-file.ts';
import { replayStrings } from './replay-strings.ts';
import { strings } from './strings.ts';
import { TurnList } from './turn-list.tsx';
import { stateText } from './tree-rows.ts';

/** More of a history would only slow the page down: the text file beside it has all of it. */
const HISTORY_CHARACTERS_MAX = 200_000;

/** Here, because a rule in the sheet of the actors would be loaded with each of them. */
const LOOKS = {
  view: { minWidth: 0, minHeight: 0, overflow: 'auto', padding: '.9rem', overflowWrap: 'anywhere' },
  history: { whiteSpace: 'pre-wrap', fontSize: '.8rem' },
  actors: { maxWidth: '100%' },
} as const;

type ReplayViewProps = {
  /** content of the file */
  readonly text: string;
  readonly onClose: () => void;
};

export const ReplayView = ({ text, onClose }: ReplayViewProps) => {
  const replay = useMemo(() => replayOf(text), [text]);
  const [actor, setActor] = useState<string>();
  const [shown, setShown] = useState<number>();
  const chosen = replay?.turns.find((one) => one.actor === actor) ?? replay?.turns[0];
  const turn = chosen?.turns.find((one) => one.turn === shown) ?? chosen?.turns.at(-1);
  return (
    <section class="actor-open replay" style={LOOKS.view} aria-label={replayStrings.title}>
      <button type="button" onClick={onClose}>
        {strings.back}
      </button>
      {!replay || !chosen ? (
        <p role="alert">{replayStrings.wrong}</p>
      ) : (
        <>
          <h2>{replayStrings.broken(replay.rule, replay.seed)}</h2>
          <p>{replay.why}</p>
          <select
            style={LOOKS.actors}
            aria-label={strings.title}
            value={chosen.actor}
            onChange={(event) => {
              setActor(event.currentTarget.value);
              setShown(undefined);
            }}
          >
            {replay.turns.map((one) => (
              <option key={one.actor} value={one.actor}>
                {one.actor}
              </option>
            ))}
          </select>
          {turn?.state !== undefined && <p class="replay-state">{stateText(turn.state)}</p>}
          <TurnList
            turns={chosen.turns}
            missed={0}
            shown={shown}
            newest={replayStrings.newest}
            onShow={setShown}
          />
          <h3>{replayStrings.history}</h3>
          <pre style={LOOKS.history}>{historyText(replay.history)}</pre>
        </>
      )}
    </section>
  );
};

function historyText(lines: readonly string[]): string {
  const text = lines.join('\n');
  return text.length > HISTORY_CHARACTERS_MAX ? `${text.slice(0, HISTORY_CHARACTERS_MAX)}…` : text;
}
