/**
 * Compose: assembles the prompt from its sources, each within its limit and all within a common
 * limit, and reports what happened to each source. Pure.
 *
 * Every prompt contains base, runtime and the caller's addition. Files and skills share the
 * remaining room in their order, so the last ones are dropped first.
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
  /** equal for equal prompts and tools */
  readonly digest: string;
};

export type PromptParts = {
  /** the files found, in any order; files that are not in CONTEXT_FILES come last */
  readonly files: readonly FoundFile[];
  readonly skills: readonly Skill[];
  /** faults of skills, with their files */
  readonly problems: readonly string[];
};

/** A source that would be cut below this size is omitted. */
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

/** The prompt with the text of a `before_agent_start` hook instead of its own. */
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

/** A quarter of the context window, at four characters per token. */
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

/** CONTEXT_FILES first, then the others in their order. */
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
