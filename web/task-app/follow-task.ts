/**
 * Follows one task: looks for it while its call runs, reads it again until it has ended, and says
 * what changed.
 */
import type { PublishedChart } from '../../charts/published.ts';
import type { TaskChart } from '../../protocols/mcp.ts';

/** What is known of the task. */
export type Followed = {
  readonly shown?: TaskChart<PublishedChart>;
  /** the state of its actor before the present one */
  readonly before?: unknown;
  /** why it could not be read; it is read again */
  readonly trouble?: string;
};

/** Calls the tool that reads a task. @throws Error why it did not */
export type ReadTask = (args: object) => Promise<TaskChart<PublishedChart> | undefined>;

const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 30_000;
/** Each search visits all tasks: the pauses between them double. */
const SEARCHES = 6;

export class FollowTask {
  readonly #read: ReadTask;
  readonly #onChange: (followed: Followed) => void;
  #known: Followed = {};
  #taskId: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  constructor(read: ReadTask, onChange: (followed: Followed) => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  /** Looks for the one task of this tool that runs, until it is found or `follow` names it. */
  search(tool: string, searches = SEARCHES, pauseMs = AGAIN_MS): void {
    if (searches === 0) return;
    this.#after(pauseMs, async () => {
      const found = await this.#read({ tool }).catch(() => undefined);
      if (this.#taskId !== undefined) return;
      if (found) this.follow(found.task.task_id);
      else this.search(tool, searches - 1, pauseMs * 2);
    });
  }

  follow(taskId: string): void {
    if (this.#taskId !== taskId) this.#known = {};
    this.#taskId = taskId;
    this.#after(0, () => this.#look(taskId));
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async #look(taskId: string, failures = 0): Promise<void> {
    const { shown } = this.#known;
    const chart = shown?.chart;
    try {
      const read = await this.#read({ task_id: taskId, ...(chart ? { chart: chart.hash } : {}) });
      if (this.#taskId !== taskId) return;
      if (!read) throw new Error('the task could not be read');
      const is = read.actor?.state;
      const was = shown?.actor?.state;
      const isSame = JSON.stringify(is) === JSON.stringify(was);
      const kept = chart && !read.chart ? { ...read, chart } : read;
      this.#tell({ shown: kept, before: isSame ? this.#known.before : was });
      if (!read.task.isFinal) this.#after(AGAIN_MS, () => this.#look(taskId));
    } catch (error) {
      if (this.#taskId !== taskId) return;
      this.#tell({
        ...this.#known,
        trouble: error instanceof Error ? error.message : String(error),
      });
      const pauseMs = Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** (failures + 1));
      this.#after(pauseMs, () => this.#look(taskId, failures + 1));
    }
  }

  #tell(known: Followed): void {
    this.#known = known;
    if (!this.#ended) this.#onChange(known);
  }

  #after(ms: number, work: () => Promise<void>): void {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void work(), ms);
  }
}
