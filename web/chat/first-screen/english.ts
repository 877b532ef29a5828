/** The texts of the first screen in English. */
export const strings = {
  welcome: 'What shall we do?',
  offline:
    'No key of a model provider is set, so the built-in offline model answers. It does not think, but everything else is real. Try it:',
  cards: [
    {
      title: 'Look around',
      about: 'Files of the workspace',
      text: 'List the files in your workspace and tell me what they are for.',
    },
    {
      title: 'Read the web',
      about: 'A page, summed up',
      text: 'Read https://example.org and sum it up in three sentences.',
    },
    {
      title: 'Every morning',
      about: 'A schedule',
      text: 'Every weekday at 9:00, remind me of what I noted in notes.md.',
    },
    {
      title: 'Work together',
      about: 'Two subagents',
      text: 'Start two subagents: one argues for, one against working at night. Sum up both.',
    },
  ],
  demonstrations: [
    { title: 'Use a tool', about: 'The model calls it, troupe runs it', text: 'What is 6*7?' },
    {
      title: 'Two files',
      about: 'Write one, then read it',
      text: 'call write {"path": "notes.md", "content": "hello"} then call read {"path": "notes.md"}',
    },
    {
      title: 'Ask me first',
      about: 'A command that waits for you',
      text: 'call exec {"command": "date"}',
    },
    {
      title: 'Kill it',
      about: 'Stop troupe while it answers, and start it again',
      text: 'Tell me who you are, and what I can try with you.',
    },
  ],
};

export type Strings = typeof strings;
