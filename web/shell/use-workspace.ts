/** Creates the workspace of the page and connects it to the page's life and address. */
import { useEffect, useState } from 'preact/hooks';
import { keepToken, keptToken, sessionInAddress, takeToken } from '../address.ts';
import { kept } from '../kept.ts';
import { routeOf } from '../routes.ts';
import { language } from '../strings.ts';
import { firstView, type View, Workspace } from '../workspace.ts';

const openWorkspace = (onChange: (view: View) => void): Workspace =>
  new Workspace({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`,
    token: keptToken(),
    locale: language,
    sessionKey: sessionInAddress(),
    keep: kept,
    onChange,
  });

export const useWorkspace = () => {
  const [view, setView] = useState<View>(firstView);
  const [workspace, setWorkspace] = useState<Workspace>(() => openWorkspace(setView));
  useEffect(() => {
    workspace.start();
    const wake = () => workspace.start();
    const move = () => {
      if (takeToken()) location.reload();
      else if (routeOf(location.hash).view === 'chat') workspace.open(sessionInAddress());
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
