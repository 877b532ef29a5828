/** Where the skills of all agents are. */
import { join } from 'node:path';
import type { Config } from '../runtime/config/index.ts';

/** Need not be there. */
export const skillsFolderOf = ({ skills, home }: Config): string =>
  skills.folder ?? join(home, 'skills');
