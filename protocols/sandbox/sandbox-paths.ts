/** Paths inside a sandbox, the same for every sandbox backend. */

/** The workspace of a sandboxed command. */
export const WORKSPACE = '/workspace';

/** Top-level folders next to /usr; on most systems links into it. */
export const TOP_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'] as const;

/** Programs and libraries. A sandboxed command can read but not modify them. */
export const PROGRAM_FOLDERS: readonly string[] = [
  '/usr',
  '/nix/store',
  ...TOP_FOLDERS.map((name) => `/${name}`),
];
