/**
 * The script of an exported page. The sources of these functions are written into the page, so they
 * use nothing but each other, and they are declarations, whose source contains their name.
 */

/** Declares every function and starts the page. */
export const viewerScript = (): string =>
  `${[all, showLevel, showChart, showState, startViewer].map(String).join('\n')}\n${startViewer.name}()`;

function all<E extends Element>(selector: string, root: ParentNode = document): E[] {
  return [...root.querySelectorAll<E>(selector)];
}

function showLevel(chart: HTMLElement, depth: string): void {
  for (const figure of all<HTMLElement>('figure', chart))
    figure.hidden = figure.dataset['depth'] !== depth;
  for (const button of all<HTMLButtonElement>('#levels button'))
    button.ariaPressed = String(button.dataset['depth'] === depth);
}

function showChart(chart: HTMLElement): void {
  for (const each of all<HTMLElement>('main')) each.hidden = each !== chart;
  const depths = all<HTMLElement>('figure', chart).map((figure) => figure.dataset['depth'] ?? '');
  const buttons = depths.map((depth) => {
    const button = document.createElement('button');
    button.textContent = depth === '1' ? '1 level' : `${depth} levels`;
    button.dataset['depth'] = depth;
    button.addEventListener('click', () => showLevel(chart, depth));
    return button;
  });
  document.querySelector('#levels')?.replaceChildren(...buttons);
  showLevel(chart, depths[0] ?? '');
}

function showState(state: SVGElement): void {
  const chart = state.closest('main');
  if (!chart) return;
  for (const each of all('.chosen', chart)) each.classList.remove('chosen');
  state.classList.add('chosen');
  const path = state.dataset['state'];
  const entries = all<HTMLDetailsElement>('details', chart);
  const entry = entries.find((each) => each.dataset['path'] === path);
  for (let each: Element | null = entry ?? null; each; each = each.parentElement)
    if (each instanceof HTMLDetailsElement) each.open = true;
  entry?.scrollIntoView({ block: 'nearest' });
  entry?.querySelector('summary')?.focus();
}

function startViewer(): void {
  const charts = all<HTMLElement>('main');
  const choice = document.querySelector<HTMLSelectElement>('#chart');
  const named = charts.find(
    (chart) => `#${chart.dataset['chart']}` === decodeURIComponent(location.hash),
  );
  const start = named ?? charts[0];
  if (choice && start) choice.value = start.dataset['chart'] ?? '';
  choice?.addEventListener('change', () => {
    location.hash = choice.value;
    const chosen = charts[choice.selectedIndex];
    if (chosen) showChart(chosen);
  });
  const fit = document.querySelector<HTMLButtonElement>('#fit');
  fit?.addEventListener('click', () => {
    const isFit = fit.ariaPressed !== 'true';
    fit.ariaPressed = String(isFit);
    for (const figure of all('figure')) figure.classList.toggle('fit', isFit);
  });
  for (const state of all<SVGElement>('[data-state]'))
    state.addEventListener('click', () => showState(state));
  if (start) showChart(start);
}
