/** Components whose code is loaded when they are shown: the real code, in a browser. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { useBrowser } from './web-world.ts';

const browser = useBrowser();

/** Renders two of them; the code arrives when the second is drawn and its effects have not run. */
const SOURCE = `
  import { render } from 'preact';
  import { lazy } from './shell/lazy.tsx';
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));
  let arrive;
  const Loaded = ({ name }) => <b>{name}</b>;
  const View = lazy(() => new Promise((done) => { arrive = () => done(Loaded); }), ({ name }) => <i>{name}</i>);
  const [first, second] = ['first', 'second'].map((id) => document.getElementById(id));
  render(<View name="one" />, first);
  await frame();
  render(<View name="two" />, second);
  arrive();
  await frame();
  document.title = first.innerHTML + second.innerHTML;
`;

test('code that arrives between the first rendering and its effects is shown', async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: SOURCE,
      loader: 'tsx',
      resolveDir: fileURLToPath(new URL('../../web/', import.meta.url)),
    },
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
  });
  const page = await browser().newPage();
  await page.setContent('<div id="first"></div><div id="second"></div>');
  await page.addScriptTag({ type: 'module', content: outputFiles[0]!.text });
  await expect.poll(() => page.title(), { timeout: 10_000 }).toBe('<b>one</b><b>two</b>');
});
