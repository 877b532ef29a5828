/**
 * The rule that imports form no cycle. A type import and a dynamic `import()` count like any other
 * import: a reader who follows either one returns to the same file. oxlint ignores dynamic
 * imports, so its `no-cycle` is not sufficient.
 */
import { importsOf } from './imports.ts';
import type { Finding, Sources } from './sources.ts';

/** Depth-first search: an import of a file that is still being visited closes a cycle. */
export function cycleFindings(files: Sources): Finding[] {
  const findings: Finding[] = [];
  const finished = new Set<string>();
  const visit = (path: string, ancestors: readonly string[]) => {
    const trail = [...ancestors, path];
    for (const { target, line } of importsOf(path, files.get(path) ?? '')) {
      const file = fileOf(target, files);
      if (file === undefined || finished.has(file)) continue;
      const start = trail.indexOf(file);
      if (start === -1) visit(file, trail);
      else findings.push(findingOf(path, line, [...trail.slice(start), file]));
    }
    finished.add(path);
  };
  for (const path of files.keys()) if (!finished.has(path)) visit(path, []);
  return findings;
}

const findingOf = (path: string, line: number, cycle: readonly string[]): Finding => ({
  path,
  line,
  rule: 'import cycle',
  remedy: `${cycle.join(' -> ')}: move what both need into a file of its own`,
});

/** The published SDK imports `./client.js`, which is the file client.ts. */
const fileOf = (target: string, files: Sources): string | undefined =>
  [target, target.replace(/\.js$/, '.ts')].find((path) => files.has(path));
