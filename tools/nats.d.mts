export type NatsServerProgram = { readonly version: string; readonly path: string };
export function natsServers(): NatsServerProgram[];
export function natsMissing(): string[];
export function ensureNats(): void;
