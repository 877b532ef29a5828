/** The search, the menu of small screens, and the choice of colours. No network is used. */
const base = document.documentElement.dataset.base;
const input = document.querySelector('#search');
const results = document.querySelector('#results');
const RESULTS_MAX = 12;

const storage = {
  get: () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  },
  set: (value) => {
    try {
      localStorage.setItem('theme', value);
    } catch {
      // Pages opened as files may have no storage.
    }
  },
};
const theme = storage.get();
if (theme) document.documentElement.dataset.theme = theme;
document.querySelector('#theme').addEventListener('click', () => {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = document.documentElement.dataset.theme ?? (isDark ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  storage.set(next);
});

const menu = document.querySelector('#menu');
menu.addEventListener('click', () => {
  const isOpen = document.body.classList.toggle('menu');
  menu.setAttribute('aria-expanded', String(isOpen));
});
const current = document.querySelector('nav [aria-current]');
if (current) current.closest('nav').scrollTop = current.offsetTop - 120;

/** Loads the index when it is first needed. */
let loading;
const load = () =>
  (loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${base}/search-index.js`;
    script.addEventListener('load', () => resolve(window.searchIndex));
    script.addEventListener('error', reject);
    document.head.append(script);
  }));

/** Every term must be in the entry; titles count more than headings, and these more than text. */
function scoreOf([url, page, heading, text], terms) {
  let score = 0;
  for (const term of terms) {
    const inPage = page.toLowerCase().includes(term);
    const inHeading = heading.toLowerCase().includes(term);
    const at = text.toLowerCase().indexOf(term);
    if (!inPage && !inHeading && at === -1) return 0;
    score += (inHeading ? 8 : 0) + (inPage ? 4 : 0) + (at === -1 ? 0 : at < 160 ? 2 : 1);
  }
  // The page itself before its sections, and changes last.
  return score + (page === heading ? 1 : 0) - (url.startsWith('CHANGELOG') ? 6 : 0);
}

async function show() {
  const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0) return hide();
  const index = await load();
  const found = index
    .map((entry) => ({ entry, score: scoreOf(entry, terms) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, RESULTS_MAX);
  results.replaceChildren(...found.map(({ entry }) => itemOf(entry)));
  if (found.length === 0) {
    const nothing = document.createElement('li');
    nothing.className = 'none';
    nothing.textContent = 'Nothing found.';
    results.append(nothing);
  }
  results.hidden = false;
}

function itemOf([url, page, heading, text]) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `${base}/${url}`;
  const title = document.createElement('strong');
  title.textContent = page === heading ? page : `${page}: ${heading}`;
  const excerpt = document.createElement('span');
  excerpt.textContent = text.split('\u0000')[0];
  link.append(title, excerpt);
  item.append(link);
  return item;
}

function hide() {
  results.hidden = true;
}

input.addEventListener('input', () => void show());
input.addEventListener('focus', () => void show());
document.addEventListener('click', ({ target }) => {
  if (!target.closest('.search') || target.closest('#results a')) hide();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === 'Escape') hide();
  if (!['ArrowDown', 'ArrowUp'].includes(event.key) || results.hidden) return;
  const links = [...results.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
  event.preventDefault();
  (links[at] ?? input).focus();
});
input.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') results.querySelector('a')?.click();
});
