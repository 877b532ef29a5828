/** The program and the variables that it needs; undefined if it is not here. */
export function debianProgram(
  name: 'systemd-analyze' | 'nginx' | 'caddy',
): { path: string; env: Record<string, string> } | undefined;
/** One line for each program that tests cannot run here. */
export function debianMissing(): string[];
