/**
 * AgentFiles: the current files and skills of agents, for prompts. A look costs a few `stat` calls
 * when nothing changed, and one when the agent has no workspace. It never waits for a tool that
 * uses the workspace.
 *
 * Boundary: one per process; caches the files of recently used agents in memory.
 *
 * Invariant: a look includes everything written before it was requested. Requests during a running
 * look share the next one. Only the shared skills may be up to one second old.
 */
import type { Address } from '../../protocols/address.ts';
import { address } from '../../protocols/address.ts';
import { type EffectContext, LruMap, type Peeked, peekFolder } from '../../runtime/index.ts';
import { MAIN_MEMORY } from '../../memory/index.ts';
import { dailyLogPaths } from '../context/daily-log.ts';
import { NO_SECRETS, type SecretMask } from '../tools/secret-mask.ts';
import type { PromptParts } from './compose.ts';
import type { Skill, SkillSurroundings } from './skill.ts';
import { CONTEXT_FILES, type FoundFile } from './sources.ts';

/** Settings of skills from the composition root; part of AgentServices. */
export type SkillSettings = {
  /** folder of the shared skills, absolute; may be missing */
  readonly skillsFolder?: string;
  /** values of the environment variables that skills may request */
  readonly skillsEnv?: Readonly<Record<string, { reveal(): string }>>;
};

/** The path by which models read shared skills; the read tool accepts it. */
export const SHARED_SKILLS_PATH = '/skills';

const SKILL_PATHS = ['skills/*/SKILL.md'];
const WORKSPACE_PATHS: readonly string[] = [...CONTEXT_FILES, ...SKILL_PATHS, MAIN_MEMORY];
const AGENTS_MAX = 1_000;
const SHARED_MS = 1_000;
const SKILLS_MAX = 150;

/** The same object until something changes. */
export type AgentParts = PromptParts;

type Skills = { readonly skills: readonly Skill[]; readonly problems: readonly string[] };
type Seen = {
  readonly peeked: Peeked | undefined;
  readonly shared: Skills;
  readonly parts: AgentParts;
};
type Entry = { seen?: Seen; running?: Promise<AgentParts>; next?: Promise<AgentParts> };

/** The parts of an effect's context that it uses. */
export type Peeking = Pick<EffectContext, 'peek' | 'now'>;

const NO_SKILLS: Skills = { skills: [], problems: [] };
const text = new TextDecoder('utf-8', { fatal: true });

export class AgentFiles {
  readonly #settings: SkillSettings;
  readonly #secrets: SecretMask;
  readonly #around: SkillSurroundings;
  readonly #agents = new LruMap<Address, Entry>(AGENTS_MAX);
  #shared: { at: number; peeked?: Peeked; skills: Promise<Skills> } | undefined;

  /** `secrets`: masked in files of a workspace, because commands may write them there */
  constructor(
    settings: SkillSettings & { readonly secrets?: SecretMask },
    path: string = process.env['PATH'] ?? '',
  ) {
    this.#settings = settings;
    this.#secrets = settings.secrets ?? NO_SECRETS;
    this.#around = { env: new Set(Object.keys(settings.skillsEnv ?? {})), path };
  }

  /** @throws TroupeError UNAVAILABLE when the workspace cannot be reached */
  look(tenant: string, agentId: string, peeking: Peeking): Promise<AgentParts> {
    const actor = address(tenant, 'agent', agentId);
    const entry = this.#agents.get(actor) ?? {};
    this.#agents.set(actor, entry);
    const begin = (): Promise<AgentParts> => {
      const look = this.#look(actor, entry, peeking).finally(() => delete entry.running);
      return (entry.running = look);
    };
    if (!entry.running) return begin();
    entry.next ??= entry.running.then(skip, skip).then(() => {
      delete entry.next;
      return begin();
    });
    return entry.next;
  }

  /** The environment variables that an agent's skills request, with their values. */
  async environment(
    tenant: string,
    agentId: string,
    peeking: Peeking,
  ): Promise<Readonly<Record<string, string>>> {
    const { skillsEnv = {} } = this.#settings;
    if (this.#around.env.size === 0) return {};
    const { skills } = await this.look(tenant, agentId, peeking);
    const names = new Set(skills.flatMap(({ env }) => env));
    const given = Object.entries(skillsEnv).filter(([name]) => names.has(name));
    return Object.fromEntries(given.map(([name, value]) => [name, value.reveal()]));
  }

  async #look(actor: Address, entry: Entry, { peek, now }: Peeking): Promise<AgentParts> {
    const [peeked, shared] = await Promise.all([
      peek(actor, [...WORKSPACE_PATHS, ...dailyLogPaths(now())], entry.seen?.peeked),
      this.#sharedSkills(now),
    ]);
    if (entry.seen && entry.seen.peeked === peeked && entry.seen.shared === shared)
      return entry.seen.parts;
    const files = (peeked?.files ?? []).map((file) => decoded(file, this.#secrets));
    const isSkill = ({ name }: FoundFile) => name.startsWith('skills/');
    const own = await this.#skillsOf(files.filter(isSkill));
    const parts: AgentParts = {
      files: files.filter((file) => !isSkill(file)),
      ...merged(own, shared),
    };
    entry.seen = { peeked, shared, parts };
    return parts;
  }

  #sharedSkills(now: () => number): Promise<Skills> {
    const { skillsFolder } = this.#settings;
    if (skillsFolder === undefined) return Promise.resolve(NO_SKILLS);
    const known = this.#shared;
    if (known && Math.abs(now() - known.at) < SHARED_MS) return known.skills;
    const skills = this.#lookAtShared(skillsFolder, known, now);
    this.#shared = { at: now(), ...(known?.peeked ? { peeked: known.peeked } : {}), skills };
    skills.catch(() => (this.#shared = undefined));
    return skills;
  }

  async #lookAtShared(
    folder: string,
    known: { peeked?: Peeked; skills: Promise<Skills> } | undefined,
    now: () => number,
  ): Promise<Skills> {
    const peeked = await peekFolder(folder, ['*/SKILL.md'], known?.peeked, now);
    if (known && peeked === known.peeked) return known.skills;
    if (this.#shared) this.#shared.peeked = peeked;
    const files = peeked.files.map((file) => decoded(file, this.#secrets));
    const named = files.map((file) => ({ ...file, name: `${SHARED_SKILLS_PATH}/${file.name}` }));
    return this.#skillsOf(named);
  }

  async #skillsOf(files: readonly FoundFile[]): Promise<Skills> {
    if (files.length === 0) return NO_SKILLS;
    const { readSkill } = await import('./skill.ts');
    const read = files.map((file) =>
      file.text === undefined
        ? { problem: `${file.name}: could not be read as text` }
        : readSkill(file.name, file.text, this.#around),
    );
    return {
      skills: read.flatMap((one) => ('skill' in one ? [one.skill] : [])),
      problems: read.flatMap((one) => ('problem' in one ? [one.problem] : [])),
    };
  }
}

const skip = (): void => undefined;

/** Omits the text of a file that is not UTF-8 or contains a zero byte. */
function decoded({ path, bytes }: Peeked['files'][number], secrets: SecretMask): FoundFile {
  try {
    const read = bytes && text.decode(bytes);
    if (read !== undefined && !read.includes('\0')) return { name: path, text: secrets.text(read) };
  } catch {
    // not UTF-8
  }
  return { name: path, left: 'unreadable' };
}

/** An agent's own skill replaces a shared skill with the same name. */
function merged(own: Skills, shared: Skills): Skills {
  const names = new Set(own.skills.map(({ name }) => name));
  const skills = [...own.skills, ...shared.skills.filter(({ name }) => !names.has(name))];
  skills.sort((a, b) => (a.name < b.name ? -1 : 1));
  const more = skills.length - SKILLS_MAX;
  return {
    skills: skills.slice(0, SKILLS_MAX),
    problems: [
      ...own.problems,
      ...shared.problems,
      ...(more > 0 ? [`${more} skills are left out: at most ${SKILLS_MAX} are used`] : []),
    ],
  };
}
