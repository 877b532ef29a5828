/** Settings: the configuration file with validation, what is in effect, and the models. */
import { useState } from 'preact/hooks';
import type {
  ConfigSnapshot,
  ConfigWritten,
  ModelChoice,
} from '../../../protocols/gateway/index.ts';
import { Action } from '../action.tsx';
import { Failure } from '../list-view.tsx';
import { Facts, Json, Part, Pill } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';

const own = strings.settings;

export const Settings = ({ workspace, view }: ViewProps) => {
  const config = useReading('config', () => workspace.request<ConfigSnapshot>('config.get'));
  const models = useReading('models', () =>
    workspace.request<{ models: readonly ModelChoice[] }>('models.list'),
  );
  return (
    <main class="view sheet" aria-label={own.title}>
      <Failure reading={config} />
      {config.value === undefined && config.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      {config.value && (
        <ConfigFile
          config={config.value}
          mayWrite={view.offers.has('config.set')}
          save={(change) => workspace.request<ConfigWritten>('config.set', change)}
          again={config.again}
        />
      )}
      <Failure reading={models} />
      {models.value && <Models models={models.value.models} />}
      {config.value && (
        <Part title={own.effective}>
          <Json value={config.value.runtimeConfig} />
        </Part>
      )}
    </main>
  );
};

const ConfigFile = (props: {
  config: ConfigSnapshot;
  mayWrite: boolean;
  save: (change: { raw: string; baseHash?: string }) => Promise<ConfigWritten>;
  again: () => void;
}) => {
  const { config, mayWrite, save, again } = props;
  const { path, exists, raw, hash } = config;
  const [text, setText] = useState<string>();
  const [written, setWritten] = useState<ConfigWritten>();
  const shown = text ?? raw ?? '{\n}\n';
  return (
    <Part title={own.file}>
      <Facts facts={[[strings.name, <code>{path}</code>]]} />
      {!exists && <p class="muted">{own.noFile}</p>}
      <Problems config={config} />
      <label class="editor">
        {own.edit}
        <textarea
          spellcheck={false}
          rows={Math.min(24, shown.split('\n').length + 1)}
          value={shown}
          readOnly={!mayWrite}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="buttons">
        {mayWrite && text !== undefined && text !== raw && (
          <>
            <Action
              label={own.save}
              kind="primary"
              run={async () =>
                setWritten(await save({ raw: text, ...(hash === null ? {} : { baseHash: hash }) }))
              }
              onDone={() => {
                setText(undefined);
                again();
              }}
            />
            <button type="button" onClick={() => setText(undefined)}>
              {strings.cancel}
            </button>
            <Pill tone="warn" text={own.unsaved} />
          </>
        )}
      </div>
      {written && <Written written={written} />}
    </Part>
  );
};

const Problems = ({ config: { exists, issues, warnings } }: { config: ConfigSnapshot }) => {
  const problems = [...issues, ...warnings];
  if (problems.length === 0) return exists ? <Pill tone="ok" text={own.valid} /> : null;
  return (
    <ul class="plain-list failed" aria-label={own.issues}>
      {problems.map(({ path, message }) => (
        <li key={path + message}>
          <code>{path}</code> {message}
        </li>
      ))}
    </ul>
  );
};

const Written = ({ written: { applied, restart } }: { written: ConfigWritten }) => (
  <div role="status">
    <p>{own.saved}</p>
    {applied.length > 0 && <p class="muted">{own.applied(applied.join(', '))}</p>}
    {restart.paths.length > 0 && <p class="warn">{own.restart(restart.paths.join(', '))}</p>}
  </div>
);

const Models = ({ models }: { models: readonly ModelChoice[] }) => (
  <Part title={own.models}>
    <ul class="plain-list models">
      {models.map(({ id, provider, available, unavailableReason }) => (
        <li key={`${provider}/${id}`}>
          <Pill
            tone={available ? 'ok' : 'idle'}
            text={available ? own.available : (own.unavailable[unavailableReason ?? ''] ?? '')}
          />{' '}
          <code>{id.startsWith(`${provider}/`) ? id : `${provider}/${id}`}</code>
        </li>
      ))}
    </ul>
  </Part>
);
