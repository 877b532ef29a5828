/** The open conversation: its lines and the message field. */
import { useMemo, useRef } from 'preact/hooks';
import { Composer } from '../chat/composer.tsx';
import { Lines } from '../chat/lines.tsx';
import type { View, Workspace } from '../workspace.ts';
import { SessionPane } from './session-pane.tsx';

export const Talk = (props: {
  view: View;
  workspace: Workspace;
  busy: boolean;
  online: boolean;
}) => {
  const { view, workspace, busy, online } = props;
  const { conversation, sessionKey, trouble } = view;
  const latest = useRef(workspace);
  latest.current = workspace;
  const actions = useMemo(
    () => ({
      tryAgain: (...sent: Parameters<NonNullable<Workspace['chat']>['tryAgain']>) =>
        latest.current.chat?.tryAgain(...sent),
      discard: (...sent: Parameters<NonNullable<Workspace['chat']>['discard']>) =>
        latest.current.chat?.discard(...sent),
      decide: (...answer: Parameters<Workspace['decide']>) => void latest.current.decide(...answer),
      askAgain: (text: string) => latest.current.chat?.send(text),
    }),
    [],
  );
  return (
    <>
      <section class="talk">
        {trouble !== undefined && (
          <p class="trouble failed" role="alert">
            {trouble}
          </p>
        )}
        <Lines
          key={`l${sessionKey}`}
          conversation={conversation}
          online={online}
          actions={actions}
        />
        {sessionKey !== undefined && (
          <Composer
            key={`c${sessionKey}`}
            sessionKey={sessionKey}
            busy={busy}
            online={online}
            onSend={(text, images) => workspace.chat?.send(text, images)}
            onStop={() => workspace.chat?.abort()}
          />
        )}
      </section>
      {sessionKey !== undefined && view.offers.has('operations.run') && (
        <SessionPane workspace={workspace} sessionKey={sessionKey} />
      )}
    </>
  );
};
