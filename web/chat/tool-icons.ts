/** The icon of a tool, by its name. */
import type { IconName } from '../icons.tsx';

const ICONS: readonly (readonly [RegExp, IconName])[] = [
  [/^(exec|process|bash|shell)/, 'terminal'],
  [/^(read|write|edit|apply_patch|list|grep|find)/, 'file'],
  [/^(web|browser|fetch)/, 'globe'],
  [/^(cron|schedule)/, 'schedules'],
  [/^(sessions|agents|subagents)/, 'agents'],
  [/^nodes/, 'devices'],
];

export const iconOf = (tool: string): IconName =>
  ICONS.find(([names]) => names.test(tool))?.[1] ?? 'tool';
