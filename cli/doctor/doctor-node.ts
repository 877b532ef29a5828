/** The check of `troupe doctor` that comes first: the version of Node. */
import { fail, type Finding, ok } from './doctor-finding.ts';

/** The oldest supported version of Node. */
const nodeMin = [20, 19] as const;

export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
  return enough
    ? ok('node', version)
    : fail('node', `${version} is too old`, `install Node ${nodeMin.join('.')} or newer`);
}
