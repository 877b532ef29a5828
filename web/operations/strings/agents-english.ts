/** The texts of the views of agents and their notes in English. */
const number = new Intl.NumberFormat('en');

export const memory = {
  title: 'Memory',
  ask: 'Search the notes',
  search: 'Search',
  notes: 'Notes',
  none: 'This agent has no notes yet. Ask it to remember something, or write MEMORY.md and memory/*.md in its workspace.',
  found: 'Found notes',
  nothingFound: 'No note was found.',
  state: (files: number, chunks: number) =>
    `${files} ${files === 1 ? 'note' : 'notes'}, ${chunks} ${chunks === 1 ? 'chunk' : 'chunks'}`,
  byMeaning: (model: string) => `by words and meaning (${model})`,
  byWords: 'by words',
  byWordsBecause: (why: string) => `by words only: ${why}`,
  bytes: (count: number) => `${number.format(count)} bytes`,
  left: (path: string, why: string) => `${path} was not searched: ${why}`,
};

export const agents = {
  title: 'Agents',
  model: 'Model',
  fallbacks: 'Fallbacks',
  workspace: 'Workspace',
  tools: 'Tools',
  skills: 'Skills',
  hooks: 'Hooks of all agents',
  noHooks: 'No hooks are loaded (docs/hooks.md).',
  files: 'Files of its prompt',
  missing: 'missing',
  talk: 'New conversation',
  notUsed: 'not used',
  empty: {
    title: 'No agents',
    text: 'An agent has a model, a workspace and a policy. The configuration lists them.',
    command: 'npx troupe config show',
  },
};

export const calls = {
  title: 'Calls of agents to programs outside',
  server: 'Server',
  called: 'Called',
  class: 'If its connection is lost',
  classes: {
    repeatable: 'it is called again',
    keyed: 'it is called again under the same key',
    once: 'it is not called again',
  } as Readonly<Record<string, string>>,
  servers: 'Servers and agents outside',
  place: 'Place',
  tool: 'Tool',
  tools: (count: number) => (count === 1 ? '1 tool' : `${count} tools`),
  readsOnly: 'only reads',
  approval: 'Approval',
  approvals: {
    always: 'each call',
    ask: 'unless always allowed',
    changes: 'unless it only reads',
    never: 'none',
  } as Readonly<Record<string, string>>,
  leftOut: 'Left out',
  listed: 'List read',
  revision: 'Changes of the list',
  about: 'About it',
  empty: {
    title: 'No calls',
    text: 'What agents call on MCP servers and A2A agents appears here for a day.',
    command: 'npx troupe mcp add NAME URL',
  },
};
