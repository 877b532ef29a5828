/** One result of `troupe doctor`. */

/**
 * `warn`: troupe runs, but something is missing or near its limit. `fail`: troupe would not start.
 */
export type Finding = {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** what the operator should do, if anything */
  readonly remedy?: string;
};

export const ok = (check: string, message: string, remedy?: string): Finding => ({
  check,
  status: 'ok',
  message,
  ...(remedy && { remedy }),
});
export const warn = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'warn',
  message,
  remedy,
});
export const fail = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: 'fail',
  message,
  remedy,
});
