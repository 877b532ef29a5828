/** The page: navigation, head, and the open conversation or view. */
import { useState } from 'preact/hooks';
import { linkTo } from '../chat/agents-talk.ts';
import { activeRun } from '../chat/conversation.ts';
import { DEVICES_METHOD, questionsOf } from '../devices.ts';
import { focusOn, useMoves } from '../moves.ts';
import type { ViewProps } from '../operations/view-props.ts';
import { linkToView, useRoute, VIEWS, type ViewName } from '../routes.ts';
import { SessionsPanel } from '../sessions-view.tsx';
import { useShortcuts } from '../shortcuts.ts';
import { strings } from '../strings.ts';
import type { View, Workspace } from '../workspace.ts';
import { Header } from './header.tsx';
import { lazy } from './lazy.tsx';
import { Rail } from './rail.tsx';
import { Talk } from './talk.tsx';
import { useWorkspace } from './use-workspace.ts';

const OPERATIONS_METHOD = 'operations.run';

const RefusedView = lazy(async () => (await import('../connection/refused-view.tsx')).RefusedView);
const ShortcutsList = lazy(async () => (await import('./shortcuts-list.tsx')).ShortcutsList, null);
const Operations = lazy<ViewProps>(async () => (await import('../operations/main.tsx')).Views);

/** Views that the gateway offers to this page. */
const viewsOf = (offers: ReadonlySet<string>): ReadonlySet<ViewName> =>
  new Set(
    VIEWS.filter(
      (name) =>
        name === 'chat' || offers.has(name === 'devices' ? DEVICES_METHOD : OPERATIONS_METHOD),
    ),
  );

export const Page = () => {
  const { view, workspace, onToken } = useWorkspace();
  const { route, go } = useRoute();
  const [helpOpen, setHelpOpen] = useState(false);
  const moves = useMoves(view, workspace, go);
  const { menuOpen, setMenuOpen, title } = moves;
  const { connection, sessionKey, mainSessionKey } = view;
  const busy = activeRun(view.conversation) !== undefined;
  const isChat = route.view === 'chat';
  const views = viewsOf(view.offers);
  const chatLink =
    sessionKey === undefined || sessionKey === mainSessionKey ? '' : linkTo(sessionKey);
  const goTo = (link: string) => (go(link), moves.leave());
  usePageShortcuts({
    moves,
    isChat,
    agentId: view.sessions.defaultAgentId,
    help: () => setHelpOpen(true),
    devices: () => views.has('devices') && done(goTo(linkToView('devices'))),
    stop: () => isChat && busy && done(workspace.chat?.abort()),
    chat: () => goTo(chatLink),
  });
  return (
    <div class={isChat ? 'shell' : 'shell of-view'}>
      <Rail
        open={route.view}
        shown={menuOpen}
        views={views}
        counts={{ devices: questionsOf(view.devices), approvals: view.asking.length }}
        chatLink={chatLink}
        onGo={goTo}
      />
      <div class="stage">
        <Header
          state={connection}
          title={isChat ? (title ?? strings.title) : strings.viewNames[route.view]}
          menuOpen={menuOpen}
          onMenu={() => setMenuOpen(!menuOpen)}
          onHelp={() => setHelpOpen(true)}
          onRetry={() => workspace.start()}
        />
        {connection.kind === 'refused' ? (
          <RefusedView state={connection} onToken={onToken} />
        ) : (
          <div class="body">
            {menuOpen && <div class="shade" onClick={() => setMenuOpen(false)} />}
            {isChat ? (
              <Chat view={view} workspace={workspace} moves={moves} busy={busy} />
            ) : (
              <Operations route={route} view={view} workspace={workspace} go={go} />
            )}
          </div>
        )}
      </div>
      {helpOpen && <ShortcutsList onClose={() => setHelpOpen(false)} />}
    </div>
  );
};

type Moves = ReturnType<typeof useMoves>;

const Chat = (props: { view: View; workspace: Workspace; moves: Moves; busy: boolean }) => {
  const { view, workspace, moves, busy } = props;
  const online = view.connection.kind === 'online';
  return (
    <>
      <SessionsPanel
        sessions={view.sessions}
        items={moves.items}
        open={view.sessionKey}
        online={online}
        shown={moves.menuOpen}
        actions={moves}
      />
      <Talk view={view} workspace={workspace} busy={busy} online={online} />
    </>
  );
};

const usePageShortcuts = (page: {
  moves: Moves;
  isChat: boolean;
  agentId: string;
  help: () => void;
  devices: () => boolean;
  stop: () => boolean;
  chat: () => void;
}) => {
  const { moves, isChat, agentId, help, devices, stop, chat } = page;
  useShortcuts({
    help: () => done(help()),
    devices,
    stop,
    write: () => focusOn(isChat ? '#message' : '#find'),
    search: () => done(isChat || chat(), moves.setMenuOpen(true)) && focusOn('#search'),
    newSession: () => done(moves.begin(agentId)),
    previous: () => done(moves.step(-1)),
    next: () => done(moves.step(1)),
    approval: () => focusOn('.approval'),
  });
};

const done = (..._what: unknown[]): true => true;
