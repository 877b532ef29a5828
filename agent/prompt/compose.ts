/**
 * Compose: the sources put together, each within its bound and all within theirs, with a report of
 * what became of each. Pure.
 *
 * Base, runtime and what the caller adds stand in every prompt; files and skills share what is left
 * in their order, so that the last ones go first when there is too little room.
 */
import { createHash } from 'node:crypto';
import type { PromptReport, PromptSource } from '../../protocols/session.ts';
import { cutMiddle } from '../context/cut.ts';
import { tokensOf } from '../context/tokens.ts';
import type { Skill } from './skill.ts';
import {
  baseText,
  CONTEXT_FILES,
  fileText,
  type FoundFile,
  PROMPT_CHARACTERS_MAX,
  type PromptFacts,
  runtimeText,
  skillsText,
  SOURCE_CHARACTERS_MAX,
} from './sources.ts';

export type Prompt = {
  readonly system: string;
  readonly report: PromptReport;
  /** the same for the same prompt and tools */
  readonly digest: string;
};

export type PromptParts = {
  /** those that were found, in any order; others than CONTEXT_FILES stand after them */
  readonly files: readonly FoundFile[];
  readonly skills: readonly Skill[];
  /** of skills: what is wrong with which file */
  readonly problems: readonly string[];
};

/** A source that is cut to less says nothing. */
const SOURCE_CHARACTERS_MIN = 200;
const SEPARATOR = '\n\n';
const TOKEN_CHARACTERS = 4;

export function composePrompt(facts: PromptFacts, parts: PromptParts): Prompt {
  const { extraSystemPrompt: extra, tools } = facts;
  const budget = new Budget(charactersMax(facts.window));
  const base = budget.take('base', baseText(facts));
  const runtime = budget.take('runtime', runtimeText(facts));
  const added = extra?.trim() ? [budget.take('extra', extra.trim())] : [];
  const files = inOrder(parts.files).map((file) => taken(budget, file));
  const skills = parts.skills.length
    ? budget.take('skills', skillsText(parts.skills))
    : { source: { name: 'skills', characters: 0, left: 'missing' as const } };
  const all: readonly Taken[] = [base, ...files, skills, runtime, ...added];
  const system = all.flatMap(({ text }) => text ?? []).join(SEPARATOR);
  return promptOf(system, {
    sources: all.map(({ source }) => source),
    tokens: tokensOf(system),
    tools,
    skills: parts.skills.map(({ name }) => name),
    ...(parts.problems.length ? { problems: parts.problems } : {}),
  });
}

/** The prompt with the text that a hook of `before_agent_start` put in its place. */
export const replaced = ({ report }: Prompt, system: string): Prompt =>
  promptOf(system, {
    ...report,
    sources: [...report.sources, { name: 'before_agent_start', characters: system.length }],
    tokens: tokensOf(system),
  });

const promptOf = (system: string, report: PromptReport): Prompt => {
  const digest = createHash('sha256').update(JSON.stringify([system, report.tools]), 'utf8');
  return { system, report, digest: digest.digest('hex').slice(0, 32) };
};

/** A quarter of the window, at four characters per token. */
const charactersMax = (window: number): number =>
  Math.min(PROMPT_CHARACTERS_MAX, Math.floor((window / 4) * TOKEN_CHARACTERS));

type Taken = { readonly source: PromptSource; readonly text?: string };

class Budget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  take(name: string, text: string): Taken {
    const max = Math.min(SOURCE_CHARACTERS_MAX, this.#left);
    const cutFrom = text.length > max ? { cutFrom: text.length } : {};
    if (text.length > max && max < SOURCE_CHARACTERS_MIN)
      return { source: { name, characters: 0, ...cutFrom, left: 'limit' } };
    const kept = cutMiddle(text, max);
    this.#left -= kept.length + SEPARATOR.length;
    return { source: { name, characters: kept.length, ...cutFrom }, text: kept };
  }
}

/** All of CONTEXT_FILES, then the others as they came. */
const inOrder = (files: readonly FoundFile[]): (FoundFile | { readonly name: string })[] => [
  ...CONTEXT_FILES.map((name) => files.find((file) => file.name === name) ?? { name }),
  ...files.filter(({ name }) => !(CONTEXT_FILES as readonly string[]).includes(name)),
];

function taken(budget: Budget, { name, text, left }: FoundFile): Taken {
  if (left) return { source: { name, characters: 0, left } };
  if (text === undefined) return { source: { name, characters: 0, left: 'missing' } };
  if (text.trim() === '') return { source: { name, characters: 0, left: 'empty' } };
  return budget.take(name, fileText(name, text));
}
