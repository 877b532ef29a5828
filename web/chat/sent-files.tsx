/** The files of a message, as buttons that download them. */
import { useState } from 'preact/hooks';
import type { FilePart } from '../../protocols/content.ts';
import { Icon } from '../icons.tsx';
import { strings } from '../strings.ts';

/** Downloads the file of a message. @throws TroupeError */
export type Download = (message: string, file: FilePart) => Promise<void>;

export const SentFiles = (props: {
  message: string;
  files: readonly FilePart[];
  download: Download;
}) => {
  const { message, files, download } = props;
  const [failure, setFailure] = useState<string>();
  const fetchFile = (file: FilePart) => {
    setFailure(undefined);
    download(message, file).catch((error: Error) => setFailure(error.message));
  };
  return (
    <div class="files">
      {files.map((file, at) => (
        <button
          key={`${at} ${file.hash}`}
          type="button"
          class="quiet"
          onClick={() => fetchFile(file)}
        >
          <Icon name="download" /> {strings.download(file.name, size(file.bytes))}
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
const size = (bytes: number): string => {
  const [amount, unit] = bytes < KILOBYTE ? [bytes, 'byte'] : [bytes / KILOBYTE, 'kilobyte'];
  const style = { style: 'unit', unit, maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat(document.documentElement.lang || undefined, style).format(amount);
};
