/** The list of keyboard shortcuts. */
import { Dialog } from '../dialog.tsx';
import type { Action } from '../shortcuts.ts';
import { strings } from '../strings.ts';

/** The labels of keys; Alt is ⌥ on a Mac. */
const SHOWN: readonly (readonly [Action, readonly string[]])[] = [
  ['help', ['?']],
  ['stop', ['Esc']],
  ['write', ['/']],
  ['search', ['Ctrl', 'K']],
  ['newSession', ['Alt', 'N']],
  ['previous', ['Alt', '↑']],
  ['next', ['Alt', '↓']],
  ['approval', ['Alt', 'A']],
  ['devices', ['Alt', 'D']],
];

export const ShortcutsList = ({ onClose }: { onClose: () => void }) => (
  <Dialog title={strings.shortcuts} onClose={onClose}>
    <dl class="shortcuts">
      {SHOWN.map(([action, keys]) => (
        <div key={action}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{strings.shortcutOf[action]}</dd>
        </div>
      ))}
    </dl>
    <p class="muted">{strings.shortcutsOfCards}</p>
  </Dialog>
);
