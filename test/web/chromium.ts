/** A real browser for tests, if the machine has one. */
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export const chromiumPath: string | undefined = [process.env['CHROMIUM_PATH'], ...PLACES].find(
  (path) => path !== undefined && existsSync(path),
);

/** Why a browser test is skipped, and the remedy. */
export const NO_CHROMIUM =
  'no Chromium on this machine: apt-get install chromium, or set CHROMIUM_PATH to one';

/** A camera, a screen, and permissions that are granted automatically. */
export const FAKE_SENSES = [
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  '--auto-select-desktop-capture-source=Entire screen',
];

/** @throws when `chromiumPath` is undefined, or the browser does not start */
export const openChromium = async (flags: readonly string[] = []): Promise<Browser> => {
  if (chromiumPath === undefined) throw new Error(NO_CHROMIUM);
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath: chromiumPath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-quic',
      '--disable-gpu',
      ...flags,
    ],
  });
};
