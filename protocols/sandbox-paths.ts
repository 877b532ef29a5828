/** Paths inside a sandbox that every sandboxed command finds, whatever runs it. */

/** Where a sandboxed command finds its workspace. */
export const WORKSPACE = '/workspace';

/** At the top beside /usr, and on most systems links into it. */
export const TOP_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'] as const;

/** Programs and libraries. A sandboxed command can read them and cannot change them. */
export const PROGRAM_FOLDERS: readonly string[] = [
  '/usr',
  '/nix/store',
  ...TOP_FOLDERS.map((name) => `/${name}`),
];
