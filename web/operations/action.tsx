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
  /** a reason is asked for and passed to `run`; or only a confirmation */
  readonly asks?: 'why' | 'sure';
  run(this: void, why: string): Promise<unknown>;
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
      needsWhy={asks === 'why'}
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

const ActionForm = (props: {
  label: string;
  kind: ActionProps['kind'];
  needsWhy: boolean;
  isRunning: boolean;
  failure: ComponentChildren;
  onStart: (why: string) => void;
  onBack: () => void;
}) => {
  const { label, kind, needsWhy, isRunning, failure, onStart, onBack } = props;
  const [why, setWhy] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (!needsWhy || why.trim() !== '') onStart(why.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    onBack();
  };
  return (
    <form class="action" onSubmit={submit} onKeyDown={onKeyDown}>
      {needsWhy ? (
        <input
          autoFocus
          value={why}
          maxLength={1_024}
          placeholder={strings.why}
          aria-label={strings.why}
          onInput={({ currentTarget }) => setWhy(currentTarget.value)}
        />
      ) : (
        <span>{strings.sure}</span>
      )}
      <button
        type="submit"
        class={kind ?? ''}
        autoFocus={!needsWhy}
        disabled={isRunning || (needsWhy && why.trim() === '')}
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
