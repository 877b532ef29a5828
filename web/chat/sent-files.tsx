/** The files of a message of an agent, as buttons that download them. */
import { useState } from 'preact/hooks';
import type { FilePart } from '../../protocols/content.ts';
import { Icon } from '../icons.tsx';
import { language } from '../strings.ts';
import { fileStrings } from './file-strings.ts';
import { followUrl, saveBlob } from './save-file.ts';

/** @param urlOf asks the gateway for a signed URL of a file. @throws TroupeError */
export const SentFiles = (props: {
  files: readonly FilePart[];
  urlOf: (file: FilePart) => Promise<string>;
}) => {
  const { files, urlOf } = props;
  const [failure, setFailure] = useState<string>();
  const download = (file: FilePart) => {
    setFailure(undefined);
    urlOf(file)
      .then((url) => save(url, file.name))
      .catch((error: Error) => setFailure(error.message));
  };
  return (
    <div class="files">
      {files.map((file, at) => (
        <button key={at} type="button" class="quiet" onClick={() => download(file)}>
          <Icon name="download" /> {fileStrings.download(file.name, sizeOf(file.bytes))}
        </button>
      ))}
      {failure !== undefined && (
        <span class="failed" role="alert">
          {failure}
        </span>
      )}
    </div>
  );
};

const KILOBYTE = 1_000;
const sizeOf = (bytes: number): string => {
  const [amount, unit] = bytes < KILOBYTE ? [bytes, 'byte'] : [bytes / KILOBYTE, 'kilobyte'];
  const style = { style: 'unit', unit, maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat(language, style).format(amount);
};

/**
 * Saves the file under its name. The gateway's answer names it by its hash, so the page reads it
 * first; a bucket of another origin cannot be read, and the browser follows its URL.
 */
async function save(url: string, name: string): Promise<void> {
  const { pathname, search } = new URL(url);
  if (!pathname.startsWith('/v1/artifacts/')) return followUrl(url, name);
  // The page may have been reached at another address of the gateway than the URL names.
  const response = await fetch(pathname + search);
  if (!response.ok) throw new Error(fileStrings.notDownloaded(name, response.status));
  saveBlob(await response.blob(), name);
}
