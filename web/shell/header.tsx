/** The head of the page: what is open, the state of the connection, settings of this browser. */
import { useState } from 'preact/hooks';
import { Status } from '../connection/connection.tsx';
import type { ConnectionState } from '../connection/gateway.ts';
import { Icon, type IconName } from '../icons.tsx';
import { strings } from '../strings.ts';
import { keepTheme, keptTheme, nextTheme, type Theme } from '../theme.ts';

export const Header = (props: {
  state: ConnectionState;
  title: string;
  menuOpen: boolean;
  onMenu: () => void;
  onHelp: () => void;
  onRetry: () => void;
}) => {
  const { state, title, menuOpen, onMenu, onHelp, onRetry } = props;
  return (
    <header>
      <button
        id="menu"
        type="button"
        class="icon"
        aria-label={strings.menu}
        aria-expanded={menuOpen}
        aria-controls="sessions"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </button>
      <h1>{title}</h1>
      <div class={`connection ${state.kind}`} role="status">
        <span class="dot" aria-hidden="true" />
        <Status state={state} />
        {state.kind === 'waiting' && !state.restarting && (
          <button type="button" class="quiet" onClick={onRetry}>
            {strings.retryNow}
          </button>
        )}
      </div>
      <ThemeButton />
      <button
        type="button"
        class="icon help"
        aria-label={strings.shortcuts}
        title={strings.shortcuts}
        onClick={onHelp}
      >
        <Icon name="help" />
      </button>
    </header>
  );
};

const THEME_ICONS: Readonly<Record<Theme, IconName>> = {
  system: 'system',
  light: 'light',
  dark: 'dark',
};

const ThemeButton = () => {
  const [theme, setTheme] = useState(keptTheme);
  const onClick = () => {
    const next = nextTheme(theme);
    keepTheme(next);
    setTheme(next);
  };
  const name = strings.theme[theme];
  return (
    <button type="button" class="icon theme" aria-label={name} title={name} onClick={onClick}>
      <Icon name={THEME_ICONS[theme]} />
    </button>
  );
};
