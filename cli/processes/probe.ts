/** Whether an address belongs to a gateway of troupe. */
import { get } from 'node:http';

/** Time limit of the response, milliseconds. */
const probeMs = 2_000;

/**
 * Requests `/healthz` of `host:port`. Never throws: false without a response or for other programs.
 */
export function isTroupe(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`http://${address}/healthz`, { timeout: probeMs }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(response.statusCode === 200 && isHealth(text)));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}

function isHealth(text: string): boolean {
  try {
    return (JSON.parse(text) as { ok?: unknown }).ok === true;
  } catch {
    return false;
  }
}
