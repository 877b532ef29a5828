/** How the connection is, and the question for the token when it was refused. */
import { useEffect, useState } from 'preact/hooks';
import type { ConnectionState } from './gateway-client.ts';
import { strings } from './strings.ts';

export const Header = ({ state, onRetry }: { state: ConnectionState; onRetry(): void }) => (
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
      return <span>{state.code}</span>;
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

export const TokenForm = ({
  why,
  onToken,
}: {
  why: string | undefined;
  onToken(token: string): void;
}) => {
  const [token, setToken] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() !== '') onToken(token.trim());
  };
  return (
    <main class="gate">
      <form onSubmit={submit}>
        <h2>{strings.tokenTitle}</h2>
        <p>{strings.tokenHelp}</p>
        {why && (
          <p class="failed" role="alert">
            {strings.refused(why)}
          </p>
        )}
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
    </main>
  );
};
