/** A refused connection: the form for a token, or how to approve this page. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { strings } from '../strings.ts';
import type { ConnectionState } from './gateway.ts';

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
