import { Pill } from './pane.tsx';
import { toneOf, wordOf } from './tones.ts';

/** A state of anything, as a word with its colour. */
export const StatePill = ({ state }: { state: string }) => (
  <Pill tone={toneOf(state)} text={wordOf(state)} />
);
