/** The state of the connection, and the form for a token after a refusal. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ConnectionState } from './gateway.ts';
import { strings } from '../strings.ts';
import { keepTheme, keptTheme, nextTheme } from '../theme.ts';

/** The head of the page: the open conversation, the state of the connection, and the menus. */
export const Header = (props: {
  state: ConnectionState;
  title: string;
  menuOpen: boolean;
  /** undefined: the gateway has no devices */
  questions: number | undefined;
  onMenu: () => void;
  onDevices: () => void;
  onHelp: () => void;
  onRetry: () => void;
}) => {
  const { state, title, menuOpen, questions, onMenu, onDevices, onHelp, onRetry } = props;
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
        ☰
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
      {questions !== undefined && <DevicesButton questions={questions} onClick={onDevices} />}
      <ThemeButton />
      <button type="button" class="icon" aria-label={strings.shortcuts} onClick={onHelp}>
        ?
      </button>
    </header>
  );
};

const DevicesButton = ({ questions, onClick }: { questions: number; onClick: () => void }) => (
  <button
    id="devices"
    type="button"
    class="icon"
    aria-label={
      questions > 0 ? `${strings.devices}: ${strings.devicesAsking(questions)}` : strings.devices
    }
    title={strings.devices}
    onClick={onClick}
  >
    <span aria-hidden="true">▣</span>
    {questions > 0 && (
      <span class="badge" aria-hidden="true">
        {questions}
      </span>
    )}
  </button>
);

const THEME_SIGNS = { system: '◐', light: '☀', dark: '☾' };

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
      {THEME_SIGNS[theme]}
    </button>
  );
};

const Status = ({ state }: { state: ConnectionState }) => {
  switch (state.kind) {
    case 'online':
      return <span>{strings.online}</span>;
    case 'connecting':
      return <span>{strings.connecting}</span>;
    case 'refused':
      return <span>{strings.notConnected}</span>;
    case 'waiting':
      return state.restarting ? (
        <span>{strings.restarting}</span>
      ) : (
        <Countdown to={state.retryAt} />
      );
  }
};

/** Shown, but a screen reader does not read it every second. */
const Countdown = ({ to }: { to: number }) => {
  const left = () => Math.max(0, Math.ceil((to - Date.now()) / 1000));
  const [seconds, setSeconds] = useState(left());
  useEffect(() => {
    setSeconds(left());
    const timer = setInterval(() => setSeconds(left()), 250);
    return () => clearInterval(timer);
  }, [to]);
  return <span aria-live="off">{strings.offline(seconds)}</span>;
};

type Refused = Extract<ConnectionState, { kind: 'refused' }>;

/** The user can enter a wrong or missing secret here; other refusals are only shown. */
export const RefusedView = (props: { state: Refused; onToken: (token: string) => void }) => {
  const { code, message, details } = props.state;
  if (code === 'PAIRING_REQUIRED') return <Asking details={details} />;
  const missing = /^AUTH_(TOKEN|PASSWORD)_MISSING$/.test(code);
  const why = missing ? undefined : strings.refused(message);
  const alert = why && (
    <p class="failed" role="alert">
      {why}
    </p>
  );
  return (
    <main class="gate">
      {code.startsWith('AUTH_') ? <TokenForm alert={alert} onToken={props.onToken} /> : alert}
    </main>
  );
};

/** An operator must approve this page; it then connects without a reload. */
const Asking = ({ details }: { details: unknown }) => {
  const { requestId } = (details ?? {}) as { requestId?: string };
  return (
    <main class="gate">
      <p class="warn" role="alert">
        {strings.deviceRequired} {strings.awaitsApproval}{' '}
        <code>troupe devices approve {requestId}</code>
      </p>
    </main>
  );
};

const TokenForm = (props: { alert: ComponentChildren; onToken: (token: string) => void }) => {
  const [token, setToken] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== '') props.onToken(token.trim());
  };
  return (
    <form onSubmit={submit}>
      <h2>{strings.tokenTitle}</h2>
      <p>{strings.tokenHelp}</p>
      {props.alert}
      <label>
        {strings.tokenLabel}
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          autoFocus
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <button type="submit">{strings.connect}</button>
    </form>
  );
};
