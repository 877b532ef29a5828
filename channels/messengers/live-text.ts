/** LiveText: the answer of a run as far as it is written, from the events on the Bus. */
import { type RunEvent, runEventsTopic } from '../../protocols/session.ts';
import type { System } from '../../runtime/index.ts';
import { TextStream } from '../gateway/streams/text-stream.ts';

export class LiveText {
  #text = new TextStream();
  #call = 0;
  #isOver = false;
  readonly #unsubscribe: () => void;
  readonly #runId: string;
  #onChange: () => void = () => {};

  constructor(
    bus: System['bus'],
    { tenant, sessionKey, runId }: { tenant: string; sessionKey: string; runId: string },
  ) {
    this.#runId = runId;
    this.#unsubscribe = bus.subscribe(runEventsTopic(tenant, sessionKey), ({ payload }) =>
      this.#apply(payload as RunEvent),
    );
  }

  /** of the current model call; '' before the first word */
  get text(): string {
    return this.#text.text;
  }

  /** the end of the run was seen; it may be missed */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves at the next change, at the end of the run, or when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done);
        this.#onChange = () => {};
        resolve();
      };
      if (signal.aborted || this.#isOver) return resolve();
      signal.addEventListener('abort', done, { once: true });
      this.#onChange = done;
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  #apply(event: RunEvent): void {
    if (event.runId !== this.#runId) return;
    if (event.stream === 'assistant') this.#append(event);
    else if (event.stream === 'lifecycle' && event.phase !== 'start') this.#isOver = true;
    else return;
    this.#onChange();
  }

  #append({ delta, offset, call }: RunEvent & { stream: 'assistant' }): void {
    if (call !== this.#call) {
      this.#call = call;
      this.#text = new TextStream();
    }
    this.#text.apply(delta, offset);
  }
}
