/** The turns of a replay file, which a failing simulation has written (`docs/testing.md`). */
import { useMemo, useState } from 'preact/hooks';
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { replayStrings } from './replay-strings.ts';
import { strings } from './strings.ts';
import { TurnList } from './turn-list.tsx';
import { stateText } from './tree-rows.ts';

/** What is shown of a file; `SimulationReplay` of `troupe/test` has more. */
type Replay = {
  readonly seed: number;
  readonly rule: string;
  readonly why: string;
  readonly history: readonly string[];
  /** oldest first */
  readonly turns: readonly { readonly actor: string; readonly turns: readonly ActorTurn[] }[];
};

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
    <section class="actor-open replay" aria-label={replayStrings.title}>
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
          <pre>{replay.history.join('\n')}</pre>
        </>
      )}
    </section>
  );
};

/** Undefined for a file that is no replay with turns. */
function replayOf(text: string): Replay | undefined {
  try {
    const { format, ...replay } = JSON.parse(text) as Replay & { format?: unknown };
    const isKnown = format === 'troupe-simulation' && Array.isArray(replay.turns);
    return isKnown && Array.isArray(replay.history) ? replay : undefined;
  } catch {
    return undefined;
  }
}
