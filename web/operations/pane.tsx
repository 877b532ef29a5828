/** The details of one thing: beside the list, or over it on a narrow page. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { strings } from './strings.ts';

export const Pane = (props: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
}) => {
  const { title, children, onClose } = props;
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus({ preventScroll: true }), [title]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  return (
    <aside class="pane" aria-label={strings.details} onKeyDown={onKeyDown}>
      <div class="pane-head">
        <h2 ref={head} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="icon" aria-label={strings.closeDetails} onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="pane-body" tabIndex={0} role="group" aria-label={title}>
        {children}
      </div>
    </aside>
  );
};

/** Names with values; an undefined or empty value leaves its row out. */
export const Facts = (props: { facts: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {props.facts
      .filter(([, value]) => value !== undefined && value !== '' && value !== null)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

export const Part = (props: { title: string; children: ComponentChildren }) => (
  <section class="part">
    <h2>{props.title}</h2>
    {props.children}
  </section>
);

export const Text = ({ text }: { text: string }) => (
  <pre class="text" tabIndex={0}>
    {text}
  </pre>
);

export const Json = ({ value }: { value: unknown }) => (
  <Text text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} />
);

export type Tone = 'ok' | 'warn' | 'failed' | 'busy' | 'idle';

/** A state as a word with a colour. */
export const Pill = ({ tone, text }: { tone: Tone; text: string }) => (
  <span class={`pill ${tone}`}>{text}</span>
);

export const Time = ({ at }: { at: number | undefined }) =>
  at === undefined ? null : <time dateTime={new Date(at).toISOString()}>{strings.time(at)}</time>;
