/** The page. Removes the token from the address bar and renders the shell. */
import { render } from 'preact';
import { takeToken } from './address.ts';
import { Page } from './shell/page.tsx';
import { language } from './strings.ts';
import { applyTheme, keptTheme } from './theme.ts';

takeToken();
applyTheme(keptTheme());
document.documentElement.lang = language;
const root = document.getElementById('app');
if (root) render(<Page />, root);
