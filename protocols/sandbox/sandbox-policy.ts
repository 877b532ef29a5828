/** Which runs of an agent are sandboxed, and what they may do there. */

export type SandboxPolicy = {
  readonly mode: 'none' | 'non-main' | 'always';
  readonly workspaceAccess: 'ro' | 'rw' | 'none';
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** last part of the main session's key, which mode `non-main` does not sandbox; default `main` */
  readonly mainKey?: string;
};
