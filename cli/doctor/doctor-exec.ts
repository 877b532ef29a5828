/** The check of `troupe doctor` on the patterns of commands that run without an approval. */
import { broadPatterns, matchingPatterns } from '../../installation/start-rules.ts';
import { type Config, findingsOf, showPointer } from '../../runtime/config/index.ts';
import { fail, type Finding, warn } from './doctor-finding.ts';

const CHECK = 'exec patterns';

/** One finding for each pattern that matches nothing or grants much, tenants included. */
export function execPatterns(config: Config): readonly Finding[] {
  const faulty = findingsOf([matchingPatterns], config).map(({ pointer, value, message }) =>
    fail(CHECK, `${showPointer(pointer)} = ${value}: ${message}`, 'see docs/sandbox.md, Approvals'),
  );
  const broad = findingsOf([broadPatterns], config).map(({ pointer, value, message }) =>
    warn(
      CHECK,
      `${showPointer(pointer)} = ${value}: ${message}`,
      'name the script in the pattern, or allow it only if you trust the files',
    ),
  );
  return [...faulty, ...broad];
}
