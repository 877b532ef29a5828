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
