/** Downloads and uploads of files. The bot token is sent to hosts of Slack only. */
import type { WebClient } from '@slack/web-api';
import type { InboundMedia } from '../../../protocols/channel.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { signalWithin } from '../../../protocols/time-limit.ts';
import type { FilePiece } from '../adapter.ts';
import { download, tooLarge } from '../network.ts';
import { REQUEST_MS } from '../outcomes.ts';
import { endOfError, SERVICE } from './errors.ts';

export type DownloadOptions = {
  readonly token: string;
  readonly apiUrl: string;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
};

/** @throws TroupeError FORBIDDEN, NOT_FOUND, PAYLOAD_TOO_LARGE, UNAVAILABLE */
export async function downloadFile(
  client: WebClient,
  { id, mimeType, bytes = 0 }: InboundMedia,
  { token, apiUrl, bytesMax, signal }: DownloadOptions,
): Promise<Uint8Array> {
  if (bytes > bytesMax) throw tooLarge(bytesMax);
  const url = await urlOf(client, id);
  if (!isOfSlack(url, apiUrl))
    throw new TroupeError('FORBIDDEN', `the file is on ${url.host}, not on Slack`);
  const headers = { authorization: `Bearer ${token}` };
  const file = await download({ service: SERVICE, url: url.href, headers, bytesMax, signal });
  if (mimeType !== 'text/html' && isPage(file))
    throw new TroupeError('FORBIDDEN', 'Slack refused the file: add the scope files:read');
  return file;
}

/**
 * Uploads a file, which is not visible yet, and returns its id.
 *
 * @throws errors of the SDK, and of `fetch`
 */
export async function uploadFile(
  client: WebClient,
  { name, contents }: FilePiece['file'],
  signal: AbortSignal,
): Promise<string> {
  const place = { filename: name, length: contents.length };
  const { upload_url = '', file_id = '' } = await client.files.getUploadURLExternal(place);
  const response = await fetch(upload_url, {
    method: 'POST',
    body: contents as Uint8Array<ArrayBuffer>,
    signal: signalWithin(signal, REQUEST_MS),
  });
  await response.body?.cancel();
  if (response.ok) return file_id;
  const { status: statusCode } = response;
  throw Object.assign(new Error('upload'), { code: 'slack_webapi_http_error', statusCode });
}

async function urlOf(client: WebClient, file: string): Promise<URL> {
  try {
    const { file: info } = await client.files.info({ file });
    return new URL(info?.url_private_download ?? info?.url_private ?? '');
  } catch (thrown) {
    throw TroupeError.from(endOfError(thrown).error);
  }
}

const isOfSlack = ({ host, protocol }: URL, apiUrl: string): boolean =>
  host === new URL(apiUrl).host || (protocol === 'https:' && host.endsWith('.slack.com'));

/** Without the right, Slack redirects to the page for the login. */
const isPage = (file: Uint8Array): boolean =>
  /^\s*<(!doctype\s+)?html/i.test(new TextDecoder().decode(file.subarray(0, 200)));
