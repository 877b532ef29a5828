/** Sends an event to an actor by hand; the gateway records it in the audit. */
import { useState } from 'preact/hooks';
import type { ActorView } from '../../protocols/actor-view.ts';
import type { ActorsGateway } from './gateway.ts';
import { strings } from './strings.ts';

type Props = {
  readonly gateway: ActorsGateway;
  readonly view: Pick<ActorView, 'actor' | 'accepts'>;
};

type Sending = { readonly id?: string; readonly error?: string; readonly isRunning?: true };

export const SendEvent = ({ gateway, view: { actor, accepts } }: Props) => {
  const [type, setType] = useState('');
  const [fields, setFields] = useState('');
  const [sending, setSending] = useState<Sending>({});
  const send = async (event: Event) => {
    event.preventDefault();
    setSending({ isRunning: true });
    try {
      const more = fields.trim() === '' ? {} : { fields: JSON.parse(fields) as unknown };
      setSending(await gateway.operate<{ id: string }>('actors.send', { actor, type, ...more }));
      setFields('');
    } catch (thrown) {
      setSending({ error: (thrown as Error).message });
    }
  };
  return (
    <details class="send-event">
      <summary>{strings.send.title}</summary>
      <form onSubmit={(event) => void send(event)}>
        <label>
          {strings.send.type}
          <input
            required
            list="accepted-events"
            value={type}
            onInput={({ currentTarget }) => setType(currentTarget.value)}
          />
        </label>
        <datalist id="accepted-events">
          {accepts.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <label>
          {strings.send.fields}
          <textarea
            rows={3}
            placeholder="{ }"
            value={fields}
            onInput={({ currentTarget }) => setFields(currentTarget.value)}
          />
        </label>
        <p class="muted">{strings.send.audited}</p>
        <button type="submit" disabled={sending.isRunning}>
          {strings.send.button}
        </button>
        {sending.id !== undefined && <p role="status">{strings.send.sent(sending.id)}</p>}
        {sending.error !== undefined && (
          <p class="failed" role="alert">
            {sending.error}
          </p>
        )}
      </form>
    </details>
  );
};
