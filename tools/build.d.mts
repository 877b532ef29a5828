/** Path of the program's entry after a build: dist/troupe.js. */
export const bundle: string;
export function isStale(): boolean;
export function build(): Promise<void>;
export function ensureBuilt(): void;
/** Removes what older builds left in dist/. */
export function removeOtherBuilds(): void;
/** Settings that a bundle for Node has in common with any other of ours. */
export const nodeBundle: import('esbuild').BuildOptions;
/** Settings of the bundles of the web pages. */
export const pageBundles: readonly import('esbuild').BuildOptions[];
/** Settings of the script of the page that MCP clients show beside a task. */
export const taskAppBundle: import('esbuild').BuildOptions & { readonly write: false };
/** The page with this script in it. */
export function taskAppPage(script: string): string;
/** Packages that stay outside the bundle; an image keeps those that are dependencies of ours. */
export const external: readonly string[];
/** Settings of the bundle of the program itself. */
export const program: import('esbuild').BuildOptions;
