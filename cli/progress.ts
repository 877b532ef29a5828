/**
 * Progress of a command that can take longer than about two seconds. It goes to stderr, so that
 * stdout and `--json` stay clean.
 *
 * At a terminal it is one line, rewritten when something happens and once a second, and removed at
 * the end. Elsewhere a line is written every 30 s, so that short work prints nothing. What a user
 * must read, such as a warning, is a note: it is always written and stays.
 */

const REDRAW_MS = 1_000;
const LINE_MS = 30_000;

type Stream = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
};

/** Receives what is being done, as `shard 3 of 8`. */
export type ShowProgress = (what: string) => void;

type Progress = {
  readonly show: ShowProgress;
  /** a line that stays */
  readonly note: (line: string) => void;
  /** removes the line; may be repeated */
  readonly end: () => void;
};

/** @param stream default stderr */
export function startProgress(stream: Stream = process.stderr): Progress {
  const isTerminal = stream.isTTY === true;
  const startMs = performance.now();
  let what = '';
  let isDrawn = false;
  const seconds = () => Math.floor((performance.now() - startMs) / 1_000);
  const clear = () => {
    if (isDrawn) stream.write('\r\u001B[2K');
    isDrawn = false;
  };
  const tick = () => {
    if (what === '') return;
    const text = `troupe: ${what} (${seconds()} s)`;
    if (!isTerminal) return void stream.write(`${text}\n`);
    clear();
    // A line that wraps could not be rewritten.
    stream.write(text.slice(0, Math.max(1, (stream.columns ?? 80) - 1)));
    isDrawn = true;
  };
  const timer = setInterval(tick, isTerminal ? REDRAW_MS : LINE_MS);
  timer.unref();
  return {
    show: (now) => {
      what = now;
      if (isTerminal) tick();
    },
    note: (line) => {
      clear();
      stream.write(`troupe: ${line}\n`);
    },
    end: () => {
      clearInterval(timer);
      clear();
    },
  };
}

/** Calls `use` with a progress that ends with it. */
export async function withProgress<T>(use: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress();
  try {
    return await use(progress);
  } finally {
    progress.end();
  }
}

/** Shows what is loaded until it is there. @param what as `the charts` */
export const loading = <T>(what: string, load: () => Promise<T>): Promise<T> =>
  withProgress(({ show }) => {
    show(`loading ${what}`);
    return load();
  });
