/** How the connection is, and the question for the token when it was refused. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ConnectionState } from './gateway-client.ts';
import { strings } from './strings.ts';

export const Header = ({ state, onRetry }: { state: ConnectionState; onRetry: () => void }) => (
  <header>
    <h1>{strings.title}</h1>
    <div class={`connection ${state.kind}`} role="status">
      <span class="dot" aria-hidden="true" />
      <Status state={state} />
      {state.kind === 'waiting' && !state.restarting && (
        <button type="button" class="quiet" onClick={onRetry}>
          {strings.retryNow}
        </button>
      )}
    </div>
  </header>
);

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

/** Shown, not read out each second. */
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

/** A wrong or missing secret can be given; any other refusal can only be told. */
export const RefusedView = (props: { state: Refused; onToken: (token: string) => void }) => {
  const { code, message } = props.state;
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
