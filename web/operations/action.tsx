/**
 * A button that runs an operation. One that needs a reason, or cannot be undone, asks first. A
 * failure is shown beside it, once.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { strings } from './strings.ts';

export type ActionProps = {
  readonly label: string;
  readonly kind?: 'primary' | 'danger';
  /** a reason, or an output as JSON, is asked for and passed to `run`; or only a confirmation */
  readonly asks?: 'why' | 'output' | 'sure';
  run(this: void, given: string): Promise<unknown>;
  onDone(this: void): void;
};

export const Action = ({ label, kind, asks, run, onDone }: ActionProps) => {
  const [isAsking, setAsking] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<string>();
  const start = async (why: string) => {
    setRunning(true);
    setError(undefined);
    try {
      await run(why);
      setAsking(false);
      onDone();
    } catch (thrown) {
      setError((thrown as Error).message);
    } finally {
      setRunning(false);
    }
  };
  const failure = error && (
    <span class="failed" role="alert">
      {error}
    </span>
  );
  if (!isAsking)
    return (
      <>
        <button
          type="button"
          class={kind ?? ''}
          disabled={isRunning}
          onClick={() => (asks ? setAsking(true) : void start(''))}
        >
          {label}
        </button>
        {failure}
      </>
    );
  return (
    <ActionForm
      label={label}
      kind={kind}
      text={asks === 'sure' ? undefined : TEXTS[asks!]}
      isRunning={isRunning}
      failure={failure}
      onStart={(why) => void start(why)}
      onBack={() => {
        setAsking(false);
        setError(undefined);
      }}
    />
  );
};

/** What an action may ask for. */
const TEXTS = {
  why: { label: strings.why, charactersMax: 1_024 },
  output: { label: strings.output, charactersMax: 65_536 },
};

const ActionForm = (props: {
  label: string;
  kind: ActionProps['kind'];
  text: (typeof TEXTS)[keyof typeof TEXTS] | undefined;
  isRunning: boolean;
  failure: ComponentChildren;
  onStart: (why: string) => void;
  onBack: () => void;
}) => {
  const { label, kind, text, isRunning, failure, onStart, onBack } = props;
  const isNeeded = text !== undefined;
  const [given, setGiven] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isNeeded || given.trim() !== '') onStart(given.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    onBack();
  };
  return (
    <form class="action" onSubmit={submit} onKeyDown={onKeyDown}>
      {text ? (
        <input
          autoFocus
          value={given}
          maxLength={text.charactersMax}
          placeholder={text.label}
          aria-label={text.label}
          onInput={({ currentTarget }) => setGiven(currentTarget.value)}
        />
      ) : (
        <span>{strings.sure}</span>
      )}
      <button
        type="submit"
        class={kind ?? ''}
        autoFocus={!isNeeded}
        disabled={isRunning || (isNeeded && given.trim() === '')}
      >
        {label}
      </button>
      <button type="button" onClick={onBack}>
        {strings.cancel}
      </button>
      {failure}
    </form>
  );
};
