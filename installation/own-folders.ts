/** Folders of the data folder in which users put code and texts of their own. */
import { hooksFolder } from '../agent/hooks/open-hooks.ts';
import { pluginsFolder } from '../agent/plugins/open-plugins.ts';
import type { Config } from '../runtime/config/index.ts';
import { skillsFolderOf } from './skills-folder.ts';

/** Of hooks, skills and plugins, except those that the configuration places elsewhere. */
export const ownFolders = (config: Config): readonly string[] => [
  ...(config.hooks.folder === undefined ? [hooksFolder(config)] : []),
  ...(config.skills.folder === undefined ? [skillsFolderOf(config)] : []),
  ...(config.plugins.folder === undefined ? [pluginsFolder(config)] : []),
];
