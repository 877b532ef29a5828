/**
 * The address of a view: `#view=runs&item=…&status=…`. Filters and the opened item are part of it,
 * so that a link shows the same. Without `view` the page shows a conversation (`#session=…`).
 */
import { useEffect, useState } from 'preact/hooks';

/** Views that belong together; a line separates the groups. */
export const VIEW_GROUPS = [
  ['chat'],
  ['actors', 'runs', 'tasks', 'calls', 'approvals', 'schedules', 'dead-letters'],
  ['channels', 'devices', 'usage', 'agents', 'memory', 'audit', 'cluster', 'settings'],
] as const;
export type ViewName = (typeof VIEW_GROUPS)[number][number];
export const VIEWS: readonly ViewName[] = VIEW_GROUPS.flat();

export type Route = {
  readonly view: ViewName;
  /** filters, and `item`: what is open */
  readonly params: Readonly<Record<string, string>>;
};

export const routeOf = (hash: string): Route => {
  const { view: named, ...params } = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const view = VIEWS.find((each) => each === named) ?? 'chat';
  return { view, params };
};

/** Empty values are left out. */
export const linkToRoute = ({ view, params }: Route): string => {
  const given = Object.entries(params).filter(([, value]) => value !== '');
  return `#${new URLSearchParams([['view', view], ...given]).toString()}`;
};

export const linkToView = (view: ViewName, params: Route['params'] = {}): string =>
  linkToRoute({ view, params });

/** The route of the address, and a function that changes the address. */
export const useRoute = () => {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const read = () => setRoute(routeOf(location.hash));
    addEventListener('hashchange', read);
    addEventListener('popstate', read);
    return () => {
      removeEventListener('hashchange', read);
      removeEventListener('popstate', read);
    };
  }, []);
  /** `replace`: without a new entry in the history, for filters while they are typed */
  const go = (link: string, replace = false) => {
    const method = replace ? 'replaceState' : 'pushState';
    history[method](null, '', link === '' ? location.pathname + location.search : link);
    setRoute(routeOf(location.hash));
  };
  return { route, go };
};
