/**
 * The conversation as a log, oldest first. It stays scrolled to its end unless the user scrolls up.
 */
import type { ComponentChildren } from 'preact';
import type { FilePart } from '../../protocols/content.ts';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  activeRun,
  type Approval,
  type Conversation,
  type Ending,
  type HistoryItem,
  type Sent,
} from './conversation.ts';
import { CopyButton } from './copy-button.tsx';
import { ToolCard } from './tool-card.tsx';
import { useEarlier } from './earlier.ts';
import { type Line, linesOf } from './reading-order.ts';
import { RichText } from './rich-text.tsx';
import { Icon } from '../icons.tsx';
import { lazy } from '../shell/lazy.tsx';
import { strings } from '../strings.ts';
import { timeAgo } from '../times.ts';
import { endOf, type ToolStep } from './tool-steps.ts';

export type LineActions = {
  tryAgain(sent: Sent): void;
  discard(sent: Sent): void;
  decide(approval: Approval, decision: string): void;
  /** Sends a text as a new message: again after a failure, or a suggestion. */
  askAgain(text: string): void;
  /** Puts the text of a message into the message field. */
  edit(text: string): void;
  /** A method of the gateway. @throws TroupeError */
  request<Result>(this: void, method: string, params: object): Promise<Result>;
  /** A signed URL of a file of a message. @throws TroupeError */
  urlOf(message: string, file: FilePart): Promise<string>;
  /** Reads older messages. */
  readEarlier(): void;
};

const approvals = () => import('./approval-card.tsx');
const talk = () => import('./agents-talk-view.tsx');
const LOADING = <li class="note">{strings.loading}</li>;
const ApprovalCard = lazy(async () => (await approvals()).ApprovalCard, LOADING);
const AgentMessage = lazy(async () => (await talk()).AgentMessage, LOADING);
const forks = () => import('./fork.tsx');
const ForkButton = lazy(async () => (await forks()).ForkButton, null);
const ForkLink = lazy(async () => (await forks()).ForkLink, LOADING);
const ParentLink = lazy(async () => (await talk()).ParentLink, LOADING);
const SentFiles = lazy(async () => (await import('./sent-files.tsx')).SentFiles);
const SubagentCard = lazy(async () => (await talk()).SubagentCard, LOADING);

/** Within this distance the log counts as scrolled to its end. */
const AT_END_PX = 80;

export const Lines = (props: {
  conversation: Conversation;
  online: boolean;
  /** undefined: the page may not show runs */
  runLink: ((runId: string) => string) | undefined;
  /** of an empty conversation */
  suggestions: ComponentChildren;
  actions: LineActions;
}) => {
  const { conversation, online, runLink, suggestions, actions } = props;
  const lines = linesOf(conversation);
  const { box, atEnd, toEnd } = useStayAtEnd(lines, conversation.outbox.at(-1)?.runId);
  const earlier = useEarlier(box, conversation, () => actions.readEarlier());
  const mine = conversation.outbox.filter(({ state }) => state === 'accepted').length;
  const others = Math.max(0, conversation.pending - mine);
  return (
    <div class="scroll" ref={box}>
      <div role="log" aria-label={strings.conversation} aria-live="polite">
        <ol class="log">
          {conversation.parent !== undefined && <ParentLink parent={conversation.parent} />}
          {conversation.forkedFrom && <ForkLink from={conversation.forkedFrom} />}
          {conversation.hasMore && (
            <li class="note">
              <button type="button" class="quiet" onClick={earlier}>
                {strings.earlier}
              </button>
            </li>
          )}
          {conversation.loaded && lines.length === 0 && <li class="first">{suggestions}</li>}
          {lines.map((line) => (
            <LineView
              key={line.key}
              line={line}
              conversation={conversation}
              online={online}
              runLink={runLink}
              actions={actions}
            />
          ))}
          {conversation.approvals.map((approval) => (
            <ApprovalCard
              key={approval.id}
              approval={approval}
              online={online}
              onDecide={(decision) => actions.decide(approval, decision)}
            />
          ))}
          {others > 0 && <li class="note">{strings.othersWaiting(others)}</li>}
        </ol>
      </div>
      {!atEnd && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={strings.newest}>
          <Icon name="arrow" />
        </button>
      )}
    </div>
  );
};

/**
 * The user's message of a run. Undefined if no user sent one, or if it had images, which are not
 * stored.
 */
const messageIn = (now: Conversation, runId: string | undefined): string | undefined => {
  const said = now.history.find((item) => item.runId === runId && item.role === 'user');
  if (said === undefined) return now.outbox.find((sent) => sent.runId === runId)?.text;
  return said.origin || said.images ? undefined : said.text;
};

const stepOf = (item: HistoryItem, key: string): ToolStep => {
  const { name = '', failed = false, about = '', args = '', text, startedAt, endedAt } = item;
  return {
    callId: key,
    name,
    state: endOf(failed, text),
    about,
    args,
    result: text,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
};

/** A fork ends after an answer, and before a message, which is written again. */
const forkOf = ({ history }: Conversation, item: HistoryItem, { request }: LineActions) => {
  const isMessage = item.role === 'user';
  const at = isMessage ? history[history.indexOf(item) - 1]?.point : item.point;
  return at && <ForkButton {...{ at, request }} {...(isMessage ? { message: item.text } : {})} />;
};

const lastRunOf = ({ history, live }: Conversation): string | undefined =>
  live.findLast(({ torso }) => !torso)?.runId ?? history.at(-1)?.runId;

const LineView = (props: {
  line: Line;
  conversation: Conversation;
  online: boolean;
  runLink: ((runId: string) => string) | undefined;
  actions: LineActions;
}) => {
  const { line, conversation, online, runLink, actions } = props;
  /** Only for the last one: later messages may depend on it. */
  const askAgain = (runId: string | undefined) => {
    const text = runId === lastRunOf(conversation) ? messageIn(conversation, runId) : undefined;
    return text === undefined || activeRun(conversation) ? undefined : () => actions.askAgain(text);
  };
  switch (line.kind) {
    case 'history': {
      const { item } = line;
      const run = item.runId === undefined ? undefined : runLink?.(item.runId);
      if (item.end) return <End end={item.end} onAskAgain={askAgain(item.runId)} />;
      const fork = run !== undefined && forkOf(conversation, item, actions);
      return <ItemView {...{ item, run, fork, actions }} lineKey={line.key} />;
    }
    case 'subagent':
      return <SubagentCard subagent={line.subagent} />;
    case 'sent':
      return <SentView sent={line.sent} queued={line.queued} online={online} actions={actions} />;
    case 'aside': {
      const { text, answer, failed } = line.aside;
      return (
        <>
          <Message from="user" text={text} />
          <li class={`note aside ${failed ? 'failed' : ''}`}>{answer}</li>
        </>
      );
    }
    case 'live': {
      const { text, tools, done, end } = line.run;
      const silent = text === '' && !done;
      return (
        <>
          {tools.map((step) => (
            <ToolCard key={step.callId} step={step} />
          ))}
          {(text !== '' || silent) && <Message from="agent" text={text} busy={!done} />}
          {end && <End end={end} onAskAgain={askAgain(line.run.runId)} />}
        </>
      );
    }
  }
};

/** A committed item, except the end of a run. */
const ItemView = (props: {
  item: HistoryItem;
  lineKey: string;
  run: string | undefined;
  fork: ComponentChildren;
  actions: LineActions;
}) => {
  const { item, lineKey, run, fork, actions } = props;
  const { role, text, images = 0, origin, at } = item;
  if (origin) return <AgentMessage origin={origin} text={text} />;
  if (role === 'marker') return <li class="note marker">{text}</li>;
  if (role === 'tool') return <ToolCard step={stepOf(item, lineKey)} />;
  if (role === 'user')
    return (
      <Message from="user" text={text} images={images} id={item.id}>
        <MessageTools {...{ text, at, run, fork }} onEdit={() => actions.edit(text)} />
      </Message>
    );
  const { files } = item;
  return text === '' && !files ? null : (
    <Message from="agent" text={text} id={item.id}>
      {files && <SentFiles files={files} urlOf={(file) => actions.urlOf(item.id, file)} />}
      <MessageTools {...{ text, at, run, fork }} />
    </Message>
  );
};

const Message = (props: {
  from: 'user' | 'agent';
  text: string;
  busy?: boolean;
  images?: number;
  /** of a committed one */
  id?: string;
  children?: ComponentChildren;
}) => {
  const { from, text, busy = false, images = 0, id, children } = props;
  return (
    // A screen reader reads it when it is complete, not while it grows.
    <li
      class={`message ${from}`}
      data-id={id}
      aria-busy={busy}
      aria-live={busy ? 'off' : undefined}
    >
      <span class="hidden">{from === 'user' ? strings.you : strings.agent}: </span>
      {from === 'user' ? <div class="plain">{text}</div> : <RichText text={text} />}
      {images > 0 && <small>{strings.images(images)}</small>}
      {busy && (
        <span class={text === '' ? 'dots' : 'caret'} role="img" aria-label={strings.thinking}>
          <i />
          <i />
          <i />
        </span>
      )}
      {children}
    </li>
  );
};

/** Shown while the message has the mouse or the focus. */
const MessageTools = (props: {
  text: string;
  at: number | undefined;
  run: string | undefined;
  fork: ComponentChildren;
  onEdit?: () => void;
}) => {
  const { text, at, run, fork, onEdit } = props;
  return (
    <div class="message-tools">
      {at !== undefined && <time>{timeAgo(at)}</time>}
      <CopyButton text={text} />
      {onEdit && (
        <button
          type="button"
          class="quiet"
          aria-label={strings.editMessage}
          title={strings.editMessage}
          onClick={onEdit}
        >
          <Icon name="edit" />
        </button>
      )}
      {fork}
      {run !== undefined && (
        <a href={run} aria-label={strings.showRun} title={strings.showRun}>
          <Icon name="runs" />
        </a>
      )}
    </div>
  );
};

const SentView = (props: {
  sent: Sent;
  queued: boolean;
  online: boolean;
  actions: LineActions;
}) => {
  const { sent, queued, online, actions } = props;
  const status =
    sent.state === 'sending'
      ? online
        ? strings.sending
        : strings.waitingToSend
      : queued
        ? strings.queued
        : undefined;
  return (
    <>
      <Message from="user" text={sent.text} images={sent.images?.length ?? 0} />
      {status && <li class="note of-user">{status}</li>}
      {sent.state === 'failed' && (
        <li class="note of-user failed">
          <span role="alert">
            {strings.notSent}: {sent.error}
          </span>
          <button type="button" onClick={() => actions.tryAgain(sent)}>
            {strings.tryAgain}
          </button>
          <button type="button" onClick={() => actions.discard(sent)}>
            {strings.discard}
          </button>
        </li>
      )}
    </>
  );
};

const End = ({ end, onAskAgain }: { end: Ending; onAskAgain?: (() => void) | undefined }) => {
  const what = end.how === 'timeout' ? strings.timedOut : strings.failed;
  return (
    <li class={`note ${end.how === 'aborted' ? '' : 'failed'}`}>
      {end.how === 'aborted' ? (
        strings.stopped
      ) : (
        <span role="alert">
          {what}: {end.message || strings.unknownError}
        </span>
      )}
      {onAskAgain && (
        <button type="button" class="quiet" onClick={onAskAgain}>
          {strings.askAgain}
        </button>
      )}
    </li>
  );
};

/**
 * Scrolls to the end after a change, unless the user has scrolled up. Always scrolls after the
 * user's own message, which `written` identifies.
 */
const useStayAtEnd = (changed: unknown, written: string | undefined) => {
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  /** where the end was: above it the user has scrolled up, before any event says so */
  const end = useRef(0);
  /** A message that a search found keeps the view, until the user wants the end. */
  const toEnd = (isWanted = false) => {
    const found = box.current?.querySelector('.found');
    if (isWanted) found?.classList.remove('found');
    else if (found) return;
    box.current?.scrollTo({ top: box.current.scrollHeight });
    end.current = box.current?.scrollTop ?? 0;
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () =>
      setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX);
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, []);
  useLayoutEffect(() => {
    if (atEnd) toEnd();
  }, [changed, atEnd]);
  useEffect(() => {
    const element = box.current;
    const content = element?.firstElementChild;
    if (!atEnd || !element || !content) return undefined;
    // Formatted text, and what is below the message field, are loaded later.
    const sizes = new ResizeObserver(() => {
      if (element.scrollTop > end.current - AT_END_PX) toEnd();
    });
    sizes.observe(element);
    sizes.observe(content);
    return () => sizes.disconnect();
  }, [atEnd]);
  useLayoutEffect(() => {
    if (written !== undefined) toEnd(true);
  }, [written]);
  return { box, atEnd, toEnd: () => toEnd(true) };
};
