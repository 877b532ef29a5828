/** The side panel: search, open, create, rename and delete conversations. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { linkTo } from './chat/agents-talk.ts';
import { Icon } from './icons.tsx';
import type { SessionItem, Sessions } from './sessions.ts';
import { lazy } from './shell/lazy.tsx';
import { strings } from './strings.ts';
import { timeAgo } from './times.ts';

const ForkMark = lazy(async () => (await import('./chat/fork.tsx')).ForkMark, null);

export type SessionActions = {
  /** `messageId`: a message of it to show */
  open(this: void, key: string, messageId?: string): void;
  begin(agentId: string): void;
  search(text: string): void;
  rename(key: string, label: string): void;
  remove(key: string): void;
};

export const SessionsPanel = (props: {
  sessions: Sessions;
  items: readonly SessionItem[];
  open: string | undefined;
  online: boolean;
  shown: boolean;
  actions: SessionActions;
}) => {
  const { sessions, items, open, online, shown, actions } = props;
  return (
    <nav id="sessions" class={`sessions ${shown ? 'shown' : ''}`} aria-label={strings.sessions}>
      <NewSession sessions={sessions} onBegin={(agentId) => actions.begin(agentId)} />
      <input
        id="search"
        type="search"
        value={sessions.search}
        placeholder={strings.search}
        aria-label={strings.search}
        onInput={({ currentTarget }) => actions.search(currentTarget.value)}
      />
      <ul aria-label={strings.sessions}>
        {items.map((item) => (
          <SessionRowView
            key={item.key}
            item={item}
            isOpen={item.key === open}
            online={online}
            showAgent={sessions.agents.length > 1}
            actions={actions}
          />
        ))}
      </ul>
      {sessions.found.length > 0 && <FoundMessages found={sessions.found} onOpen={actions.open} />}
      {items.length + sessions.found.length === 0 && <p class="muted">{strings.nothingFound}</p>}
      {sessions.hasMore && <p class="muted">{strings.moreSessions}</p>}
    </nav>
  );
};

const FoundMessages = (props: { found: Sessions['found']; onOpen: SessionActions['open'] }) => (
  <section aria-label={strings.inMessages}>
    <h2>{strings.inMessages}</h2>
    <ul>
      {props.found.map(({ sessionKey, messageId, timestamp, snippet }) => (
        <li key={sessionKey + messageId} class="session">
          <a
            href={linkTo(sessionKey)}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              props.onOpen(sessionKey, messageId);
            }}
          >
            <span class="snippet">{snippet}</span>
            <small>{timeAgo(timestamp)}</small>
          </a>
        </li>
      ))}
    </ul>
  </section>
);

/** With several agents the user chooses one. */
const NewSession = (props: { sessions: Sessions; onBegin: (agentId: string) => void }) => {
  const { agents, defaultAgentId } = props.sessions;
  const [chosen, setChosen] = useState<string>();
  const agentId = chosen ?? defaultAgentId;
  return (
    <div class="new-session">
      <button id="new-session" type="button" onClick={() => props.onBegin(agentId)}>
        <Icon name="plus" />
        {strings.newSession}
      </button>
      {agents.length > 1 && (
        <select
          aria-label={strings.agentToTalkTo}
          value={agentId}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {agents.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </div>
  );
};

type Mode = 'shown' | 'renaming' | 'deleting';

const SessionRowView = (props: {
  item: SessionItem;
  isOpen: boolean;
  online: boolean;
  showAgent: boolean;
  actions: SessionActions;
}) => {
  const { item, isOpen, online, showAgent, actions } = props;
  const [mode, setMode] = useState<Mode>('shown');
  const { key, mark, title, updatedAt } = item;
  const back = () => setMode('shown');
  const renamed = (label: string | undefined) => {
    if (label !== undefined) actions.rename(key, label);
    back();
  };
  if (mode === 'renaming')
    return (
      <li>
        <Rename title={title} onDone={renamed} />
      </li>
    );
  return (
    <li class={`session ${mark ?? ''} ${isOpen ? 'open' : ''}`}>
      <SessionLink
        item={item}
        isOpen={isOpen}
        showAgent={showAgent}
        onOpen={(to) => actions.open(to)}
      />
      {mode === 'deleting' && (
        <ConfirmDelete title={title} onDelete={() => actions.remove(key)} onBack={back} />
      )}
      {mode === 'shown' && updatedAt !== undefined && (
        <SessionTools title={title} online={online} onChoose={setMode} />
      )}
    </li>
  );
};

const SessionLink = (props: {
  item: SessionItem;
  isOpen: boolean;
  showAgent: boolean;
  onOpen: (key: string) => void;
}) => {
  const { item, isOpen, showAgent, onOpen } = props;
  const { key, mark, title, preview, updatedAt, agentId, forkedFrom } = item;
  const onClick = (event: MouseEvent) => {
    // A link, so that it can be opened in a new tab.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(key);
  };
  return (
    <a href={linkTo(key)} aria-current={isOpen ? 'page' : undefined} onClick={onClick}>
      <span class="session-title">
        <b>{title}</b>
        {forkedFrom && <ForkMark from={forkedFrom} />}
        {mark && (
          <span
            class="mark"
            role="img"
            aria-label={strings.marks[mark]}
            title={strings.marks[mark]}
          />
        )}
      </span>
      <small>
        {showAgent && `${agentId} · `}
        {updatedAt !== undefined && timeAgo(updatedAt)}
        {preview !== '' && ` · ${preview}`}
      </small>
    </a>
  );
};

const SessionTools = (props: {
  title: string;
  online: boolean;
  onChoose: (mode: Mode) => void;
}) => (
  <div class="session-tools">
    <button
      type="button"
      class="icon"
      disabled={!props.online}
      aria-label={strings.rename(props.title)}
      onClick={() => props.onChoose('renaming')}
    >
      <Icon name="edit" />
    </button>
    <button
      type="button"
      class="icon"
      disabled={!props.online}
      aria-label={strings.remove(props.title)}
      onClick={() => props.onChoose('deleting')}
    >
      <Icon name="trash" />
    </button>
  </div>
);

/** Enter saves the name, Esc restores the old one; an empty name restores the session's default. */
export const Rename = (props: { title: string; onDone: (label: string | undefined) => void }) => {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    props.onDone(undefined);
  };
  return (
    <form
      class="rename"
      onSubmit={(event) => {
        event.preventDefault();
        props.onDone(field.current?.value ?? '');
      }}
    >
      <input
        ref={field}
        defaultValue={props.title}
        maxLength={64}
        aria-label={strings.rename(props.title)}
        onKeyDown={onKeyDown}
      />
      <button type="submit">{strings.save}</button>
    </form>
  );
};

export const ConfirmDelete = (props: {
  title: string;
  onDelete: () => void;
  onBack: () => void;
}) => {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div class="confirm" role="alertdialog" aria-label={strings.confirmRemove(props.title)}>
      <span>{strings.confirmRemove(props.title)}</span>
      <button ref={first} type="button" class="danger" onClick={props.onDelete}>
        {strings.yesRemove}
      </button>
      <button type="button" onClick={props.onBack}>
        {strings.keep}
      </button>
    </div>
  );
};
