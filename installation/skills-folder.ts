/** The folder of the skills of all agents. */
import { join } from 'node:path';
import type { Config } from '../runtime/config/index.ts';

/** It may not exist. */
export const skillsFolderOf = ({ skills, home }: Config): string =>
  skills.folder ?? join(home, 'skills');
