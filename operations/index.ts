/** All operations, by resource. */
import { conversations } from './conversations.ts';
import type { Resource } from './operation.ts';

export const RESOURCES: readonly Resource[] = [conversations];
