/** The conversation as a log, oldest first, that stays at its end unless one has scrolled up. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  type Approval,
  type Conversation,
  type Ending,
  type Sent,
  type ToolStep,
} from './conversation.ts';
import { AgentMessage, ParentLink, SubagentCard } from './agents-talk-view.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { type Line, linesOf } from './reading-order.ts';
import { RichText } from './rich-text.tsx';
import { strings } from './strings.ts';

export type LineActions = {
  tryAgain(sent: Sent): void;
  discard(sent: Sent): void;
  decide(approval: Approval, decision: string): void;
};

/** Closer to the end than this counts as at the end. */
const AT_END_PX = 80;

export const Lines = (props: {
  conversation: Conversation;
  online: boolean;
  actions: LineActions;
}) => {
  const { conversation, online, actions } = props;
  const lines = linesOf(conversation);
  const { box, atEnd, toEnd } = useStayAtEnd(lines, conversation.outbox.at(-1)?.runId);
  const mine = conversation.outbox.filter(({ state }) => state === 'accepted').length;
  const others = Math.max(0, conversation.pending - mine);
  return (
    <main ref={box}>
      <ol class="log" role="log" aria-label={strings.conversation} aria-live="polite">
        {conversation.parent !== undefined && <ParentLink parent={conversation.parent} />}
        {conversation.hasMore && <li class="note">{strings.earlier}</li>}
        {conversation.loaded && lines.length === 0 && <li class="note empty">{strings.empty}</li>}
        {lines.map((line) => (
          <LineView key={line.key} line={line} online={online} actions={actions} />
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
      {!atEnd && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={strings.newest}>
          ↓
        </button>
      )}
    </main>
  );
};

const LineView = ({
  line,
  online,
  actions,
}: {
  line: Line;
  online: boolean;
  actions: LineActions;
}) => {
  switch (line.kind) {
    case 'history': {
      const { role, text, name = '', failed = false, about = '', images, end, origin } = line.item;
      if (origin) return <AgentMessage origin={origin} text={text} />;
      if (role === 'user') return <Message from="user" text={text} images={images ?? 0} />;
      if (role === 'marker') return <li class="note marker">{text}</li>;
      if (role === 'tool') {
        const state = failed ? 'failed' : 'done';
        return <Tool step={{ callId: line.key, name, state, about }} result={text} />;
      }
      if (end) return <End end={end} />;
      return text === '' ? null : <Message from="agent" text={text} />;
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
            <Tool key={step.callId} step={step} />
          ))}
          {(text !== '' || silent) && <Message from="agent" text={text} busy={!done} />}
          {end && <End end={end} />}
        </>
      );
    }
  }
};

const Message = (props: {
  from: 'user' | 'agent';
  text: string;
  busy?: boolean;
  images?: number;
}) => {
  const { from, text, busy = false, images = 0 } = props;
  return (
    // While it grows it is not read out piece by piece; when it is done it is.
    <li class={`message ${from}`} aria-busy={busy} aria-live={busy ? 'off' : undefined}>
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
    </li>
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

const toolTexts = {
  running: strings.toolRunning,
  done: strings.toolUsed,
  failed: strings.toolFailed,
};

/** Name, arguments in short and state; the result when one asks for it. */
const Tool = ({ step, result }: { step: ToolStep; result?: string }) => {
  const title = (
    <>
      {toolTexts[step.state](step.name)}
      {step.about ? <code>{step.about}</code> : null}
    </>
  );
  return (
    <li class={`tool ${step.state}`}>
      {result ? (
        <details>
          <summary>{title}</summary>
          <pre tabIndex={0}>{result}</pre>
        </details>
      ) : (
        <span>{title}</span>
      )}
    </li>
  );
};

const End = ({ end }: { end: Ending }) => {
  if (end.how === 'aborted') return <li class="note">{strings.stopped}</li>;
  const what = end.how === 'timeout' ? strings.timedOut : strings.failed;
  return (
    <li class="note failed" role="alert">
      {what}: {end.message || strings.unknownError}
    </li>
  );
};

/**
 * Scrolls to the end when something changes, unless the reader has gone up to read; and always when
 * the reader has written something, which `written` names.
 */
const useStayAtEnd = (changed: unknown, written: string | undefined) => {
  const box = useRef<HTMLElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
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
  useLayoutEffect(() => {
    if (written !== undefined) toEnd();
  }, [written]);
  return { box, atEnd, toEnd };
};
