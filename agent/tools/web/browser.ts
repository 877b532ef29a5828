/**
 * `browser`: a page with running scripts, shown as a tree of roles and names. Each element has a
 * reference that the next call can click or type into.
 *
 * Boundary: `browsers.ts` owns the pages. They live in this process: when a run moves to another
 * one, the model is notified that no page is open. Actions that may change something outside
 * (click, type, evaluate, history navigation) are `once`.
 */
import { Type } from '@sinclair/typebox';
import type { Page } from 'playwright-core';
import { IMAGE_BYTES_MAX } from '../../../protocols/content.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { Browsers, type BrowsersOptions, NAVIGATION_MS } from './browsers.ts';
import { checkedUrl } from './net/addresses.ts';
import { fromOutside } from './net/outside.ts';
import { defineTool, type Tool, type ToolResult } from '../tool.ts';
import type { SecretMask } from '../secret-mask.ts';

export type BrowserToolOptions = Omit<BrowsersOptions, 'executable'> & {
  /** undefined: no browser is installed */
  readonly executable: string | undefined;
  /** whether models may run their own scripts in pages */
  readonly evaluate: boolean;
};

const SNAPSHOT_CHARACTERS_MAX = 24_000;
const SETTLE_MS = 5_000;
const ACTIONS = [
  'open',
  'navigate',
  'snapshot',
  'click',
  'type',
  'screenshot',
  'evaluate',
  'close',
] as const;
const LOOKS: ReadonlySet<string> = new Set(['open', 'snapshot', 'screenshot', 'close']);

const Parameters = Type.Object(
  {
    action: Type.Union(
      ACTIONS.map((action) => Type.Literal(action)),
      {
        description:
          'open: go to `url`. navigate: back, forward or reload, as `where` says. snapshot: what the page shows, with refs. click: on `ref`. type: `text` into `ref`, then Enter if `submit`. screenshot: an image of what is visible. evaluate: the value of the JavaScript expression in `text`. close: the page is needed no more.',
      },
    ),
    url: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
    where: Type.Optional(
      Type.Union([Type.Literal('back'), Type.Literal('forward'), Type.Literal('reload')]),
    ),
    ref: Type.Optional(
      Type.String({
        pattern: '^(f\\d+)?e\\d+$',
        description: 'reference from the newest snapshot, such as e12',
      }),
    ),
    text: Type.Optional(Type.String({ maxLength: 16_384 })),
    submit: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
type Arguments = (typeof Parameters)['static'];

export function browserTool(options: BrowserToolOptions): Tool {
  const { executable, allowPrivate } = options;
  const browsers = executable === undefined ? undefined : new Browsers({ ...options, executable });
  return defineTool({
    name: 'browser',
    groups: ['ui'],
    description:
      'Uses a web page in a real browser: opens it, shows its elements with references, clicks and types. To only read a page, web_fetch is faster.',
    parameters: Parameters,
    class: 'once',
    classOf: ({ action }) => (LOOKS.has(action) ? 'repeatable' : 'once'),
    parallel: false,
    timeoutMs: 90_000,
    unavailable: () =>
      executable === undefined
        ? 'no Chromium was found: install one (`apt-get install chromium`) or name it in `tools.browser.executable`'
        : undefined,
    async run(args, { tenant, sessionKey, signal, secrets }) {
      const key = JSON.stringify([tenant, sessionKey]);
      if (!browsers) return failure('there is no browser on this machine');
      if (args.action === 'close') {
        const was = await browsers.close(key);
        return { text: was ? 'The page is closed.' : 'No page was open.' };
      }
      try {
        return await browsers.with(key, signal, (page, open) =>
          act(args, { page, open, options, secrets }),
        );
      } catch (error) {
        if (signal.aborted) throw new TroupeError('CANCELLED', 'the call was aborted');
        return failure(messageOf(error, allowPrivate));
      }
    },
    close: async () => browsers?.closeAll(),
  });
}

const failure = (text: string): ToolResult => ({ text, isError: true });

/** Removes the long log at the end of Playwright's errors. */
const messageOf = (error: unknown, allowed: readonly string[]): string => {
  const [first = ''] = (error as Error).message.split('\n');
  return /ERR_TUNNEL_CONNECTION_FAILED/.test(first)
    ? `${first}: not reached, or an address that is not public${allowed.length > 0 ? ' and not allowed' : ''}`
    : first;
};

type Place = {
  readonly page: Page | undefined;
  readonly open: () => Promise<Page>;
  readonly options: BrowserToolOptions;
  readonly secrets: SecretMask;
};

async function act(
  args: Arguments,
  { page: known, open, options, secrets }: Place,
): Promise<ToolResult> {
  const { action, url, where, ref, text, submit = false } = args;
  if (action === 'open') {
    if (url === undefined) return failure('open requires a `url`');
    const target = checkedUrl(url, options.allowPrivate);
    const page = await open();
    await page.goto(target.href, { waitUntil: 'domcontentloaded', timeout: NAVIGATION_MS });
    return seen(page, secrets);
  }
  if (!known) return failure('no page is open: call browser with action open and a url first');
  switch (action) {
    case 'navigate':
      if (where === undefined) return failure('navigate requires `where`: back, forward or reload');
      await gone(known, where);
      return seen(known, secrets);
    case 'click':
      if (ref === undefined) return failure('click requires a `ref` from the newest snapshot');
      await known.locator(`aria-ref=${ref}`).click();
      return seen(known.context().pages().at(-1) ?? known, secrets);
    case 'type':
      if (ref === undefined || text === undefined) return failure('type requires `ref` and `text`');
      await known.locator(`aria-ref=${ref}`).fill(text);
      if (submit) await known.locator(`aria-ref=${ref}`).press('Enter');
      return seen(known, secrets);
    case 'screenshot':
      return screenshot(known);
    case 'evaluate':
      return options.evaluate
        ? evaluated(known, text ?? '')
        : failure('evaluate is turned off (`tools.browser.evaluate`)');
    default:
      return seen(known, secrets);
  }
}

const gone = async (page: Page, where: 'back' | 'forward' | 'reload'): Promise<unknown> => {
  const options = { waitUntil: 'domcontentloaded', timeout: NAVIGATION_MS } as const;
  if (where === 'back') return page.goBack(options);
  return where === 'forward' ? page.goForward(options) : page.reload(options);
};

/** The content of the page after it has settled, or after a few seconds. */
async function seen(page: Page, secrets: SecretMask): Promise<ToolResult> {
  await page.waitForLoadState('load', { timeout: SETTLE_MS }).catch(() => {});
  const tree = secrets.text(await page.ariaSnapshot({ mode: 'ai' }));
  const cut = tree.length > SNAPSHOT_CHARACTERS_MAX;
  const title = secrets.text(await page.title()).slice(0, 300);
  const lines = [
    `Title: ${title}`,
    cut ? `${tree.slice(0, SNAPSHOT_CHARACTERS_MAX)}\n[cut: the page shows more]` : tree,
  ];
  return { text: fromOutside(page.url(), lines.join('\n')) };
}

const QUALITIES = [80, 50, 25];

async function screenshot(page: Page): Promise<ToolResult> {
  for (const quality of QUALITIES) {
    const image = await page.screenshot({ type: 'jpeg', quality, scale: 'css' });
    if (image.byteLength > IMAGE_BYTES_MAX) continue;
    const data = image.toString('base64');
    const text = fromOutside(page.url(), 'An image of what is visible.');
    return { text, images: [{ mimeType: 'image/jpeg', data }] };
  }
  return failure('the image of this page is too large: use snapshot');
}

async function evaluated(page: Page, expression: string): Promise<ToolResult> {
  const value: unknown = await page.evaluate(expression);
  return { text: fromOutside(page.url(), JSON.stringify(value, undefined, 2) ?? 'undefined') };
}
