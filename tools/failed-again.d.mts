export type TestResult = {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly failedFiles: readonly { readonly path: string; readonly passed: number }[];
  readonly errors: number;
  readonly unfinished: number;
  readonly skipped: readonly { readonly path: string; readonly name: string }[];
  readonly failedOnce?: readonly string[];
};

export function runFailedAgain(
  result: TestResult,
  run: (paths: readonly string[]) => TestResult,
): TestResult;
