/**
 * What the MCP server of a gateway shows besides its system: shared skills, and the view of tasks.
 */
import { taskAppPath } from '../installation/page-folder.ts';
import { partsFor } from '../installation/tenant-parts.ts';
import { readFile } from 'node:fs/promises';
import type { SkillOptions } from '../channels/mcp/skills.ts';
import { systemClock } from '../runtime/index.ts';
import type { GatewayServices } from './process-services.ts';

/** The shared skills of each tenant. */
export async function sharedSkills(services: GatewayServices): Promise<SkillOptions['skillsOf']> {
  const { SkillFolder } = await import('../agent/prompt/skill-folder.ts');
  const now = () => systemClock.wallMs();
  const folders = new Map<object, InstanceType<typeof SkillFolder>>();
  return (tenant) => {
    // Tenants without own sections have the parts of the installation.
    const { services: own } = partsFor(services, tenant);
    const known = folders.get(own);
    if (known) return known;
    const opened = new SkillFolder(own.skillsFolder!, now, own.secrets);
    folders.set(own, opened);
    return opened;
  };
}

/** Reads the built page of the view of tasks; undefined: it is not built. */
export function taskAppPage(): (() => Promise<string>) | undefined {
  const path = taskAppPath();
  let page: Promise<string> | undefined;
  return path === undefined ? undefined : () => (page ??= readFile(path, 'utf8'));
}
