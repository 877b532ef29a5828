/** The components of the node page. */
import { useState } from 'preact/hooks';
import type { ConnectionState } from '../connection/gateway.ts';
import { timeAgo } from '../times.ts';
import type { Canvas, Capability, CapabilityName, Permission } from './capability.ts';
import type { LogEntry, Question } from './host.ts';
import { strings as shared } from '../strings.ts';
import { strings } from './strings.ts';
import { deviceName, keepName, keepSwitch, switchedOff } from './switches.ts';

/** Characters of a device id that people compare. */
const SHORT_ID = 12;

export const Status = (props: { connection: ConnectionState; deviceId: string }) => {
  const { connection, deviceId } = props;
  return (
    <section>
      <p class={`connection ${connection.kind}`} role="status">
        <span class="dot" aria-hidden="true" />
        <span>{strings.status[connection.kind]}</span>
      </p>
      {connection.kind === 'refused' && <Refused connection={connection} />}
      <p class="muted">
        {strings.deviceId}{' '}
        <code class="device-id" title={deviceId}>
          {deviceId.slice(0, SHORT_ID)}
        </code>
      </p>
    </section>
  );
};

const Refused = ({ connection }: { connection: ConnectionState & { kind: 'refused' } }) => {
  const { code, message, details } = connection;
  if (code !== 'PAIRING_REQUIRED')
    return (
      <p class="failed" role="alert">
        {strings.refused(message)}
      </p>
    );
  const { requestId } = (details ?? {}) as { requestId?: string };
  return (
    <p class="warn" role="alert">
      {shared.awaitsApproval} <code>troupe devices approve {requestId}</code>
    </p>
  );
};

/** Questions of a command to the user of this device. */
export const Questions = (props: {
  questions: readonly Question[];
  all: readonly Capability[];
  onAnswer: (id: string, yes: boolean) => void;
}) => (
  <>
    {props.questions.map(({ id, command }) => {
      const name = props.all.find((each) => each.command === command)?.name;
      const what = strings.mayIt(name ? strings.capabilities[name] : command);
      return (
        <div key={id} class="approval" role="alertdialog" aria-label={what}>
          <p>{what}</p>
          <div>
            <button type="button" onClick={() => props.onAnswer(id, true)}>
              {strings.allow}
            </button>
            <button type="button" class="danger" onClick={() => props.onAnswer(id, false)}>
              {strings.refuse}
            </button>
          </div>
        </div>
      );
    })}
  </>
);

/**
 * HTML is shown in a separate frame that may not run scripts, load resources or navigate. Its
 * content security policy and the sandbox attribute both enforce this.
 */
export const CanvasView = ({ canvas }: { canvas: (Canvas & { at: number }) | undefined }) => {
  if (canvas === undefined) return null;
  const { kind, content, title, at } = canvas;
  const write = ({ currentTarget }: { currentTarget: HTMLIFrameElement }) => {
    const page = currentTarget.contentDocument;
    if (page) page.documentElement.innerHTML = content;
  };
  return (
    <section class="canvas" aria-live="polite">
      <h2>{title ?? strings.canvas}</h2>
      {kind === 'html' && (
        <iframe
          key={at}
          src="canvas.html"
          sandbox="allow-same-origin"
          title={title ?? strings.canvas}
          onLoad={write}
        />
      )}
      {kind === 'text' && <pre>{content}</pre>}
      {kind === 'image' && <img src={content} alt={title ?? strings.canvas} />}
    </section>
  );
};

export const Capabilities = (props: {
  all: readonly Capability[];
  permissions: Readonly<Partial<Record<CapabilityName, Permission>>>;
  onChange: () => void;
}) => (
  <section>
    <h2>{strings.offers}</h2>
    <ul class="capabilities">
      {props.all.map((capability) => (
        <CapabilityRow
          key={capability.name}
          capability={capability}
          permission={props.permissions[capability.name]}
          onChange={props.onChange}
        />
      ))}
    </ul>
  </section>
);

const CapabilityRow = (props: {
  capability: Capability;
  /** missing: this browser does not support it */
  permission: Permission | undefined;
  onChange: () => void;
}) => {
  const { capability, permission, onChange } = props;
  const { name, command, request, supported } = capability;
  const isOn = !switchedOff().has(name) && supported();
  const onSwitch = (on: boolean) => {
    keepSwitch(name, on);
    onChange();
  };
  const state = !supported()
    ? strings.notHere
    : isOn && permission === 'denied'
      ? strings.deniedByBrowser
      : permission && strings.permissions[permission];
  return (
    <li>
      <label>
        <input
          type="checkbox"
          role="switch"
          checked={isOn}
          disabled={!supported()}
          onChange={({ currentTarget }) => onSwitch(currentTarget.checked)}
        />
        {strings.capabilities[name]}
      </label>
      <code>{command}</code>
      <span class={`state ${permission ?? ''}`}>{state}</span>
      {isOn && permission === 'undetermined' && request && (
        <button
          type="button"
          onClick={() =>
            void request()
              .catch(() => {})
              .finally(onChange)
          }
        >
          {strings.allowNow}
        </button>
      )}
    </li>
  );
};

export const Name = ({ onChange }: { onChange: () => void }) => {
  const [name, setName] = useState(deviceName);
  const submit = (event: Event) => {
    event.preventDefault();
    if (name.trim() === '') return;
    keepName(name.trim());
    onChange();
  };
  return (
    <form class="rename" onSubmit={submit}>
      <label>
        {strings.name}{' '}
        <input
          value={name}
          maxLength={64}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <button type="submit">{strings.save}</button>
    </form>
  );
};

/** A device receives the command, but not who requested it. */
export const Log = ({ log }: { log: readonly LogEntry[] }) => (
  <section>
    <h2>{strings.log}</h2>
    <p class="muted">{log.length === 0 ? strings.noCommands : strings.whoIsAsked}</p>
    <ol class="asked" role="log">
      {log.map(({ id, at, command, params, outcome, failed }) => (
        <li key={id} class={failed ? 'failed' : ''}>
          <code>{command}</code> <span class="muted">{params}</span>{' '}
          {outcome === undefined ? strings.working : outcome || strings.done} · {timeAgo(at)}
        </li>
      ))}
    </ol>
  </section>
);
