/** Opens a URL in the browser of the user's desktop. */
import { spawn } from 'node:child_process';

const commands: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** How long the command may take until its failure is not waited for, milliseconds. */
const FAILURE_MS = 1_000;

/** Whether a browser was asked to open it. False without a desktop. Never throws. */
export function openBrowser(url: string): Promise<boolean> {
  const [command, ...args] = commands[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { detached: true, stdio: 'ignore' });
    // It keeps this process alive: the child does not, and a promise alone would not either.
    const late = setTimeout(resolve, FAILURE_MS, true);
    const end = (opened: boolean) => {
      clearTimeout(late);
      resolve(opened);
    };
    child.on('error', () => end(false));
    child.on('exit', (code) => end(code === 0));
    child.unref();
  });
}
