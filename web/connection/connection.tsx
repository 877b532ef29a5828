/** The state of the connection in words. */
import { useEffect, useState } from 'preact/hooks';
import type { ConnectionState } from './gateway.ts';
import { strings } from '../strings.ts';

export const Status = ({ state }: { state: ConnectionState }) => {
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
