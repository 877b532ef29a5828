/**
 * Waits for work that only an unreferenced timer may end, such as a hook with a time limit: without
 * another reason to run, the process would exit before.
 */
export async function keepRunning<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 60_000);
  return work.finally(() => clearInterval(timer));
}
