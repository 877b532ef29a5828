/** How the view of a task looks: its own colours, unless the client names some. */
import { addStyle } from '../charts/looks.ts';

const colors = {
  light: 'color-scheme:light;--page:#fff;--text:#0f172a;--dim:#475569;--rim:#cbd5e1;--lit:#2563eb',
  dark: 'color-scheme:dark;--page:#0f141c;--text:#e6edf6;--dim:#a9b8cc;--rim:#334155;--lit:#60a5fa',
};

const style = `
:root{${colors.light}}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){${colors.dark}}}
:root[data-theme=dark]{${colors.dark}}
:root{--line:var(--color-border-primary,var(--rim));--muted:var(--color-text-secondary,var(--dim));--accent:var(--lit);--busy:var(--lit);--busy-soft:transparent}
body{margin:0;background:var(--color-background-primary,var(--page));color:var(--color-text-primary,var(--text));font:14px/1.5 var(--font-sans,system-ui,sans-serif)}
main{display:flex;flex-direction:column;gap:.5rem;padding:.75rem}
header{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
h1{font-size:1rem;margin:0;overflow-wrap:anywhere}h2{font-size:.85rem;margin:0}
.task-state{font-weight:600;color:var(--accent)}
.task-chart{height:20rem}
p,ol{margin:0;overflow-wrap:anywhere}ol{padding-left:1.2rem;font-size:.85rem;color:var(--muted)}
.muted{color:var(--muted);font-size:.85rem}
`;

export const addTaskStyle = (): void => addStyle(style);

/** What a client may say about its looks. */
export type HostContext = {
  readonly theme?: unknown;
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> };
  readonly toolInfo?: { readonly tool?: { readonly name?: unknown } };
};

const VARIABLE = /^--(color|font)-[a-z-]{1,60}$/;
const CHARACTERS_MAX = 200;

/** Takes over the theme of the client, and those of its variables that are used here. */
export function applyLooks({ theme, styles }: HostContext): void {
  const root = document.documentElement;
  if (theme === 'light' || theme === 'dark') root.dataset['theme'] = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (VARIABLE.test(name) && typeof value === 'string' && value.length <= CHARACTERS_MAX)
      root.style.setProperty(name, value);
}
