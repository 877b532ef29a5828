/** Light or dark: the system's setting, or the user's choice on this device. */
import { kept } from './kept.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const NAME = 'troupe.theme';

export const keptTheme = (): Theme =>
  THEMES.find((theme) => theme === kept.getItem(NAME)) ?? 'system';

/** Applies it now. */
export const applyTheme = (theme: Theme): void => {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
};

export const keepTheme = (theme: Theme): void => {
  kept.setItem(NAME, theme);
  applyTheme(theme);
};

export const nextTheme = (theme: Theme): Theme =>
  THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
