/** The tools of a whole installation are those in the configuration's table of tool names. */
import { expect, it } from 'vitest';
import { createProcessServices } from '../../compose/process-services.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { toolAliases, toolGroups } from '../../runtime/config/schema/tool-names.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

const toolsOf = () => {
  const flags = { data: scratchFolder(), port: '0', token: 'x' };
  return createProcessServices(loadConfig({ env: {}, flags }).config).services.tools.all();
};
const table: Readonly<Record<string, readonly string[]>> = toolGroups;

it('a tool is in exactly the groups that it declares', () => {
  const tools = toolsOf();
  const inTable = ({ name }: { name: string }) =>
    Object.keys(table).filter((group) => table[group]?.includes(name));
  expect(tools.map((tool) => [tool.name, [...(tool.groups ?? [])].sort()])).toEqual(
    tools.map((tool) => [tool.name, inTable(tool).sort()]),
  );
  expect(tools.length).toBeGreaterThan(5);
});

it('a tool has the aliases that lists may use', () => {
  const others = toolsOf().flatMap(({ name, aliases = [] }) =>
    aliases.map((alias) => [alias, name]),
  );
  expect(Object.fromEntries(others)).toEqual(toolAliases);
});
