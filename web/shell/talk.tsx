/** The open conversation: its lines, the message field, and what it runs with. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FilePart } from '../../protocols/content.ts';
import type { Command } from '../chat/commands.tsx';
import { Composer } from '../chat/composer.tsx';
import { Lines } from '../chat/lines.tsx';
import { linkToView } from '../routes.ts';
import type { View, Workspace } from '../workspace.ts';
import { lazy } from './lazy.tsx';
import { SessionPane } from './session-pane.tsx';

const Suggestions = lazy(
  async () => (await import('../chat/first-screen/suggestions.tsx')).Suggestions,
  null,
);
const SessionBar = lazy(async () => (await import('../chat/session-bar.tsx')).SessionBar, null);

type TalkProps = { view: View; workspace: Workspace; busy: boolean; online: boolean };

export const Talk = (props: TalkProps) => {
  const { view, workspace } = props;
  const { sessionKey, offers } = view;
  return (
    <>
      <OpenConversation {...props} />
      {sessionKey !== undefined && offers.has('operations.run') && (
        <SessionPane workspace={workspace} sessionKey={sessionKey} />
      )}
    </>
  );
};

const OpenConversation = ({ view, workspace, busy, online }: TalkProps) => {
  const { conversation, sessionKey, trouble, offers } = view;
  const [insert, setInsert] = useState<{ text: string }>();
  const actions = useActions(workspace, (text) => setInsert({ text }));
  const commands = useCommands(workspace, online);
  const model = modelOf(view);
  return (
    <main class="talk">
      {trouble !== undefined && (
        <p class="trouble failed" role="alert">
          {trouble}
        </p>
      )}
      <Lines
        key={`l${sessionKey}`}
        conversation={conversation}
        online={online}
        runLink={offers.has('operations.run') ? runLink : undefined}
        suggestions={
          model && <Suggestions isOffline={model.startsWith('offline/')} onSay={actions.askAgain} />
        }
        actions={actions}
      />
      {sessionKey !== undefined && (
        <Composer
          key={`c${sessionKey}`}
          sessionKey={sessionKey}
          busy={busy}
          online={online}
          insert={insert}
          commands={commands}
          onSend={(text, images) => workspace.chat?.send(text, images)}
          onStop={() => workspace.chat?.abort()}
        />
      )}
      {sessionKey !== undefined && model !== undefined && (
        <SessionBar
          key={`b${sessionKey}`}
          sessionKey={sessionKey}
          agentModel={model}
          workspace={workspace}
          conversation={conversation}
          online={online}
        />
      )}
    </main>
  );
};

const runLink = (item: string): string => linkToView('runs', { item });

/** Of the agent of the open conversation. */
const modelOf = ({ sessions, sessionKey = '' }: View): string | undefined => {
  const agentId = /^agent:([^:]+):/.exec(sessionKey)?.[1] ?? sessions.defaultAgentId;
  return sessions.agents.find(({ id }) => id === agentId)?.model;
};

const useActions = (workspace: Workspace, edit: (text: string) => void) => {
  const latest = useRef(workspace);
  latest.current = workspace;
  return useMemo(
    () => ({
      tryAgain: (...sent: Parameters<NonNullable<Workspace['chat']>['tryAgain']>) =>
        latest.current.chat?.tryAgain(...sent),
      discard: (...sent: Parameters<NonNullable<Workspace['chat']>['discard']>) =>
        latest.current.chat?.discard(...sent),
      decide: (...answer: Parameters<Workspace['decide']>) => void latest.current.decide(...answer),
      askAgain: (text: string) => latest.current.chat?.send(text),
      readEarlier: () => latest.current.chat?.readEarlier(),
      request: <Result,>(method: string, params: object) =>
        latest.current.request<Result>(method, params),
      urlOf: async (message: string, { hash }: FilePart) => {
        const params = { key: latest.current.chat?.sessionKey, message: Number(message), hash };
        return (await latest.current.operate<{ url: string }>('sessions.file', params)).url;
      },
      edit,
    }),
    [],
  );
};

/** Read once per connection; without it no command is completed or refused here. */
const useCommands = (workspace: Workspace, online: boolean): readonly Command[] => {
  const [commands, setCommands] = useState<readonly Command[]>([]);
  useEffect(() => {
    if (!online) return;
    workspace
      .request<{ commands: readonly Command[] }>('commands.list')
      .then((answer) => setCommands(answer.commands))
      .catch(() => {});
  }, [workspace, online]);
  return commands;
};
