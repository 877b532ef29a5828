/** The second run of failed files, for tools/test.mjs. */

/** A busy machine makes a few files fail. More fail because of the change. */
const FILES_MAX = 3;
/** Their faults come at other moments in each run. What one run finds is a defect. */
const RANDOM_FAULTS = /^test\/(?:kill|sim|upgrade|loadtest)\//;

/**
 * Runs few failed files again, alone. A test that then passes depends on how busy the machine is:
 * it counts as passed, and is listed, because it should be repaired. What these files passed and
 * skipped is counted by their second run.
 * @param result of all files, as test-report.mjs writes it, with the number `failed`
 * @param run runs the files of these paths and returns their result
 * @returns the result, or that of both runs, with the failures in `failedOnce`
 */
export function runFailedAgain(result, run) {
  const { failedFiles, errors, unfinished, passed, skipped, failures } = result;
  const paths = failedFiles.map(({ path }) => path);
  const isTooMuch = paths.length === 0 || paths.length > FILES_MAX || errors + unfinished > 0;
  if (isTooMuch || paths.some((path) => RANDOM_FAULTS.test(path))) return result;
  console.log(`\nAgain, alone: ${paths.join(', ')}`);
  const again = run(paths);
  if (again.failed > 0) return result;
  const passedBefore = failedFiles.reduce((sum, file) => sum + file.passed, 0);
  return {
    ...result,
    failures: [],
    failed: 0,
    failedOnce: failures,
    passed: passed - passedBefore + again.passed,
    skipped: [...skipped.filter(({ path }) => !paths.includes(path)), ...again.skipped],
  };
}
