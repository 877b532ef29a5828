/** The chat page. Removes the token from the address bar, creates the workspace and renders it. */
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { keepToken, keptToken, sessionInAddress, takeToken } from './address.ts';
import { Composer } from './chat/composer.tsx';
import { Header, RefusedView } from './connection/connection.tsx';
import { activeRun } from './chat/conversation.ts';
import { DEVICES_METHOD, questionsOf } from './devices.ts';
import { DevicesPanel } from './devices-view.tsx';
import { kept } from './kept.ts';
import { Lines } from './chat/lines.tsx';
import { focusOn, useMoves } from './moves.ts';
import { SessionsPanel } from './sessions-view.tsx';
import { ShortcutsList, useShortcuts } from './shortcuts.tsx';
import { language, strings } from './strings.ts';
import { applyTheme, keptTheme } from './theme.ts';
import { firstView, type View, Workspace } from './workspace.ts';

const openWorkspace = (onChange: (view: View) => void): Workspace =>
  new Workspace({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`,
    token: keptToken(),
    locale: language,
    sessionKey: sessionInAddress(),
    keep: kept,
    onChange,
  });

const useWorkspace = () => {
  const [view, setView] = useState<View>(firstView);
  const [workspace, setWorkspace] = useState<Workspace>(() => openWorkspace(setView));
  useEffect(() => {
    workspace.start();
    const wake = () => workspace.start();
    const move = () => {
      if (takeToken()) location.reload();
      else workspace.open(sessionInAddress());
    };
    addEventListener('online', wake);
    addEventListener('hashchange', move);
    addEventListener('popstate', move);
    return () => {
      removeEventListener('online', wake);
      removeEventListener('hashchange', move);
      removeEventListener('popstate', move);
      workspace.stop();
    };
  }, [workspace]);
  const onToken = (token: string) => {
    keepToken(token);
    setWorkspace(openWorkspace(setView));
  };
  return { view, workspace, onToken };
};

type Panel = 'devices' | 'help' | undefined;

const Page = () => {
  const { view, workspace, onToken } = useWorkspace();
  const { connection, sessions, sessionKey, devices } = view;
  const [panel, setPanel] = useState<Panel>();
  const moves = useMoves(view, workspace);
  const { menuOpen, setMenuOpen, items, title } = moves;
  const online = connection.kind === 'online';
  const busy = activeRun(view.conversation) !== undefined;
  const hasDevices = view.offers.has(DEVICES_METHOD);
  useShortcuts({
    help: () => done(setPanel('help')),
    devices: () => hasDevices && done(setPanel('devices')),
    stop: () => busy && online && done(workspace.chat?.abort()),
    write: () => focusOn('#message'),
    search: () => done(setMenuOpen(true)) && focusOn('#search'),
    newSession: () => done(moves.begin(sessions.defaultAgentId)),
    previous: () => done(moves.step(-1)),
    next: () => done(moves.step(1)),
    approval: () => focusOn('.approval'),
  });
  const body = () => (
    <div class="body">
      <SessionsPanel
        sessions={sessions}
        items={items}
        open={sessionKey}
        online={online}
        shown={menuOpen}
        actions={moves}
      />
      {menuOpen && <div class="shade" onClick={() => setMenuOpen(false)} />}
      <Talk view={view} workspace={workspace} busy={busy} online={online} />
    </div>
  );
  return (
    <>
      <Header
        state={connection}
        title={title ?? strings.title}
        menuOpen={menuOpen}
        questions={hasDevices ? questionsOf(devices) : undefined}
        onMenu={() => setMenuOpen(!menuOpen)}
        onDevices={() => setPanel('devices')}
        onHelp={() => setPanel('help')}
        onRetry={() => workspace.start()}
      />
      {connection.kind === 'refused' ? (
        <RefusedView state={connection} onToken={onToken} />
      ) : (
        body()
      )}
      <Panels panel={panel} view={view} workspace={workspace} onClose={() => setPanel(undefined)} />
    </>
  );
};

const Panels = (props: { panel: Panel; view: View; workspace: Workspace; onClose: () => void }) => {
  const { panel, view, workspace, onClose } = props;
  if (panel === 'help') return <ShortcutsList onClose={onClose} />;
  if (panel !== 'devices') return null;
  return (
    <DevicesPanel
      devices={view.devices}
      trouble={view.trouble}
      act={(method, params) => void workspace.device(method, params)}
      onClose={onClose}
    />
  );
};

const Talk = (props: { view: View; workspace: Workspace; busy: boolean; online: boolean }) => {
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
    <section class="talk">
      {trouble !== undefined && (
        <p class="trouble failed" role="alert">
          {trouble}
        </p>
      )}
      <Lines key={`l${sessionKey}`} conversation={conversation} online={online} actions={actions} />
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
  );
};

const done = (_what: unknown): true => true;

takeToken();
applyTheme(keptTheme());
document.documentElement.lang = language;
const root = document.getElementById('app');
if (root) render(<Page />, root);
