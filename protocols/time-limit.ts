/** Time limits of requests that also hold after a garbage collection, unlike those of Node 20. */

/** Aborts when `signal` does, or after `limitMs` with a TimeoutError. */
export const signalWithin = (signal: AbortSignal, limitMs: number): AbortSignal => {
  const late = AbortSignal.timeout(limitMs);
  // AbortSignal.any holds its sources weakly. Node keeps a timeout that has a listener.
  late.addEventListener('abort', () => {});
  return AbortSignal.any([signal, late]);
};

/**
 * The response, with a body that fails with the signal's reason when it aborts, and then ends the
 * connection. `fetch(new Request(…))` does so only until the garbage collector removes the request.
 */
export const abortableBody = (response: Response, signal: AbortSignal): Response =>
  response.body === null
    ? response
    : new Response(response.body.pipeThrough(new TransformStream(), { signal }), response);

/** Rejects with the signal's reason as soon as it aborts; what the work does then is ignored. */
export const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
