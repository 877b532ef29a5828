/** The turns of an actor, newest first, and a slider through them. */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { strings } from './strings.ts';
import { stateText } from './tree-rows.ts';

const SHOWN_MAX = 60;

type TurnListProps = {
  /** newest last */
  readonly turns: readonly ActorTurn[];
  readonly missed: number;
  /** number of the turn that is shown; undefined: live, or the newest one */
  readonly shown: number | undefined;
  /** text of the button that shows the newest one; default: live */
  readonly newest?: string;
  readonly onShow: (turn: number | undefined) => void;
};

export const TurnList = ({ turns, missed, shown, newest, onShow }: TurnListProps) => {
  const at = shown === undefined ? -1 : turns.findIndex(({ turn }) => turn === shown);
  const index = at < 0 ? turns.length - 1 : at;
  const from = Math.max(0, Math.min(turns.length - SHOWN_MAX, index - SHOWN_MAX / 2));
  const listed =
    shown === undefined ? turns.slice(-SHOWN_MAX) : turns.slice(from, from + SHOWN_MAX);
  if (turns.length === 0) return <p class="muted">{strings.noTurns}</p>;
  return (
    <>
      <div class="turn-slider">
        <input
          type="range"
          min={0}
          max={turns.length - 1}
          value={index}
          aria-label={strings.position}
          aria-valuetext={strings.turnAt(turns[index]!.turn)}
          onInput={(event) => {
            const next = Number(event.currentTarget.value);
            onShow(next === turns.length - 1 ? undefined : turns[next]?.turn);
          }}
        />
        <button type="button" aria-pressed={shown === undefined} onClick={() => onShow(undefined)}>
          {newest ?? strings.live}
        </button>
      </div>
      {missed > 0 && <p class="muted">{strings.missed(missed)}</p>}
      <ol class="turn-list" reversed>
        {listed.toReversed().map((turn) => (
          <li key={turn.turn} aria-current={turn === turns[index]}>
            <button type="button" onClick={() => onShow(turn.turn)}>
              <Turn turn={turn} />
            </button>
          </li>
        ))}
      </ol>
    </>
  );
};

const Turn = ({ turn }: { turn: ActorTurn }) => {
  const { at, input, from, result, why, before, state, sent, opened, ended } = turn;
  const [was, is] = [before, state].map((value) => (value === undefined ? '' : stateText(value)));
  const notes = [
    ...sent.map(({ to, type }) => `${strings.sent} ${type} → ${to}`),
    ...opened.map((effect) => `${strings.started} ${effect}`),
    ...ended.map((effect) => `${strings.ended} ${effect}`),
  ];
  return (
    <>
      <span class="turn-head">
        <b>{input}</b>
        {result !== 'applied' && <span class="tag">{result}</span>}
        <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>
      </span>
      {is !== '' && (
        <span class="turn-state">{was !== '' && was !== is ? `${was} → ${is}` : is}</span>
      )}
      {(from ?? why) !== undefined && (
        <span class="muted">{[from, why].filter(Boolean).join(' · ')}</span>
      )}
      {notes.length > 0 && <span class="muted">{notes.join(', ')}</span>}
    </>
  );
};
