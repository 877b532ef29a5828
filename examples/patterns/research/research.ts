/**
 * Research: subagents examine parts of a question in parallel; the parent combines their results.
 */
import { call, type Pattern } from '../pattern.ts';

const questions = {
  wind: 'How much power does a wind turbine give?',
  sun: 'How much power does a solar panel give?',
  water: 'How much power does a water wheel give?',
};

export const research: Pattern = {
  agentId: 'main',
  said: `Start a subagent for each of these questions, all in one answer, and do not wait for them. When
their results have come to you, compare them for me.\n${Object.values(questions).join('\n')}`,
  saidOffline: Object.entries(questions)
    .map(([label, task]) => call('sessions_spawn', { task: `${task} [[words:7]]`, label }))
    .join(' and '),
};
