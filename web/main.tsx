/**
 * The page: conversations with agents. Takes the token out of the address bar, holds the workspace
 * and shows what it is.
 */
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { keepToken, keptToken, sessionInAddress, takeToken } from './address.ts';
import { linkTo } from './agents-talk.ts';
import { Composer } from './composer.tsx';
import { Header, RefusedView } from './connection.tsx';
import { activeRun } from './conversation.ts';
import { DEVICES_METHOD, questionsOf } from './devices.ts';
import { DevicesPanel } from './devices-view.tsx';
import { Lines } from './lines.tsx';
import { itemsOf, neighbourOf } from './sessions.ts';
import { SessionsPanel } from './sessions-view.tsx';
import { type Action, ShortcutsList, useShortcuts } from './shortcuts.tsx';
import { language, strings } from './strings.ts';
import { applyTheme, keptTheme } from './theme.ts';
import { firstView, type View, Workspace } from './workspace.ts';

/** Side by side from here on; below, the conversations lie over the page while they are wanted. */
const WIDE = matchMedia('(min-width: 56rem)');

const openWorkspace = (onChange: (view: View) => void): Workspace =>
  new Workspace({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`,
    token: keptToken(),
    locale: language,
    sessionKey: sessionInAddress(),
    keep: localStorage,
    onChange,
  });

const useWorkspace = () => {
  const [view, setView] = useState<View>(firstView);
  const [workspace, setWorkspace] = useState<Workspace>(() => openWorkspace(setView));
  useEffect(() => {
    workspace.start();
    const wake = () => workspace.start();
    const move = () => workspace.open(sessionInAddress());
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
  const { connection, conversation, sessions, sessionKey, devices } = view;
  const [menuOpen, setMenuOpen] = useState(WIDE.matches);
  const [panel, setPanel] = useState<Panel>();
  const online = connection.kind === 'online';
  const busy = activeRun(conversation) !== undefined;
  const asking = useMemo(
    () => new Set(view.asking.flatMap(({ request }) => request.sessionKey ?? [])),
    [view.asking],
  );
  const items = itemsOf(sessions, sessionKey, asking);
  const open = (key: string) => {
    // The main conversation is the page without a name behind it.
    const hash = key === view.mainSessionKey ? location.pathname : linkTo(key);
    history.pushState(null, '', hash);
    workspace.open(key);
    if (!WIDE.matches) setMenuOpen(false);
    focusOn('#message');
  };
  const begin = (agentId: string) => open(workspace.newSession(agentId));
  const hasDevices = view.offers.has(DEVICES_METHOD);
  const step = (by: 1 | -1) => {
    const key = neighbourOf(items, sessionKey, by);
    if (key !== undefined) open(key);
    return true;
  };
  const doing: Record<Action, () => boolean> = {
    help: () => shown(setPanel('help')),
    devices: () => hasDevices && shown(setPanel('devices')),
    stop: () => busy && online && shown(workspace.chat?.abort()),
    write: () => focusOn('#message'),
    search: () => shown(setMenuOpen(true), () => focusOn('#search')),
    newSession: () => shown(begin(sessions.defaultAgentId)),
    previous: () => step(-1),
    next: () => step(1),
    approval: () => focusOn('.approval'),
  };
  useShortcuts((action) => doing[action]());
  const title = items.find(({ key }) => key === sessionKey)?.title;
  useEffect(() => {
    document.title =
      title === undefined || sessionKey === view.mainSessionKey
        ? strings.title
        : `${title} · ${strings.title}`;
  }, [title, sessionKey]);
  const remove = async (key: string) => {
    await workspace.delete(key);
    if (key === sessionKey && view.mainSessionKey !== undefined) open(view.mainSessionKey);
  };
  const actions = {
    open,
    begin,
    search: (text: string) => workspace.search(text),
    rename: (key: string, label: string) => void workspace.rename(key, label),
    remove: (key: string) => void remove(key),
  };
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
        <div class="body">
          <SessionsPanel
            sessions={sessions}
            items={items}
            open={sessionKey}
            online={online}
            shown={menuOpen}
            actions={actions}
          />
          {menuOpen && <div class="shade" onClick={() => setMenuOpen(false)} />}
          <Talk view={view} workspace={workspace} busy={busy} online={online} />
        </div>
      )}
      {panel === 'help' && <ShortcutsList onClose={() => setPanel(undefined)} />}
      {panel === 'devices' && (
        <DevicesPanel
          devices={devices}
          trouble={view.trouble}
          act={(method, params) => void workspace.device(method, params)}
          onClose={() => setPanel(undefined)}
        />
      )}
    </>
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

/** Once it is shown; true, so that the key does nothing else. */
const focusOn = (selector: string): true => {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
  return true;
};

const shown = (_done: unknown, then?: () => void): true => {
  then?.();
  return true;
};

takeToken();
applyTheme(keptTheme());
document.documentElement.lang = language;
const root = document.getElementById('app');
if (root) render(<Page />, root);
