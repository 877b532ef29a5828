/**
 * Agent skills over MCP (SEP-2640): each file of a skill is a resource `skill://NAME/PATH`, and a
 * manifest names all of them with digests. `skill://index.json` has the same for clients that only
 * read resources.
 *
 * Invariant: a URI is looked up among the files that exist, so none leads out of a skill.
 */
import type { ReadResourceResult, Resource } from '@modelcontextprotocol/server';
import { assertScope } from '../../operations/access.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { McpCaller, McpSkills } from './catalog.ts';
import { contentsOf, mimeTypeOf } from './contents.ts';

export type ServedSkill = {
  /** lower-case letters, digits and single dashes */
  readonly name: string;
  readonly description: string;
  readonly frontmatter: Readonly<Record<string, unknown>>;
  /** sorted by path; SKILL.md is one of them */
  readonly files: readonly {
    readonly path: string;
    /** `sha256:` and 64 hexadecimal digits */
    readonly digest: string;
    readonly size: number;
  }[];
};

/** The skills of a tenant. */
export type SkillSource = {
  /** sorted */
  names(): Promise<readonly string[]>;
  skill(name: string): Promise<ServedSkill | undefined>;
  read(name: string, path: string): Promise<Uint8Array | undefined>;
};

export type SkillOptions = {
  readonly skillsFor: 'none' | 'operators' | 'all';
  readonly skillsOf: (tenant: string) => SkillSource;
};

const SCHEME = 'skill://';
const SKILL = 'SKILL.md';
export const SKILL_INDEX = `${SCHEME}index.json`;
const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';
/** Skills of one page. */
const PAGE = 20;
/** Files that the index names; `skills/list` names all of them. */
const INDEX_FILES_MAX = 4_096;
const FOLDER_TYPE = 'inode/directory';

export const SKILL_TEMPLATE = {
  name: 'skill',
  uriTemplate: `${SCHEME}{skill}/{+path}`,
  description: `A file of a skill: ${SKILL}, or one that it refers to`,
};

export const isSkillUri = (uri: string): boolean => uri.startsWith(SCHEME);

export type SkillResources = McpSkills & {
  /** one page, and the name after which the next one begins */
  resources(after: string): Promise<{ resources: Resource[]; next?: string }>;
  read(uri: string): Promise<ReadResourceResult | undefined>;
};

/** undefined: this caller sees none. */
export function skillsFor(
  { skillsFor: who, skillsOf }: SkillOptions,
  caller: McpCaller,
): SkillResources | undefined {
  if (who === 'none' || (who === 'operators' && !caller.isOperator)) return undefined;
  const source = (): SkillSource => {
    assertScope(caller, 'read');
    return skillsOf(caller.tenant);
  };
  return {
    async list(cursor) {
      const { skills, next } = await pageAfter(source(), nameIn(cursor));
      return { skills: skills.map(entryOf), ...(next === undefined ? {} : { nextCursor: next }) };
    },
    async get(uri) {
      const { name, path } = partsOf(uri) ?? {};
      const skill = path === SKILL ? await source().skill(name!) : undefined;
      return skill && entryOf(skill);
    },
    async directory(uri) {
      const { name = '', path = '' } = partsOf(uri) ?? {};
      const skill = await source().skill(name);
      return skill && childrenOf(skill, path);
    },
    async resources(after) {
      const { skills, next } = await pageAfter(source(), after);
      const files = skills.flatMap((skill) => skill.files.map((file) => resourceOf(skill, file)));
      const isFirst = after === '' && files.length > 0;
      return {
        resources: isFirst ? [INDEX, ...files] : files,
        ...(next === undefined ? {} : { next }),
      };
    },
    async read(uri) {
      if (uri === SKILL_INDEX) return contentsOf(uri, 'application/json', await indexOf(source()));
      const { name = '', path = '' } = partsOf(uri) ?? {};
      const bytes = await source().read(name, path);
      return bytes && contentsOf(uri, mimeTypeOf(path, bytes), bytes);
    },
  };
}

const INDEX: Resource = {
  uri: SKILL_INDEX,
  name: 'skills',
  description: 'The skills, and the digest of every file',
  mimeType: 'application/json',
};

/** @throws TroupeError INVALID_ARGUMENT for what is no name of a skill */
function nameIn(cursor = ''): string {
  if (/^[a-z0-9-]{0,64}$/.test(cursor)) return cursor;
  throw new TroupeError('INVALID_ARGUMENT', 'the cursor is none that a list named');
}

/** Skills that come or go in the meantime move no other one to another page. */
async function pageAfter(source: SkillSource, after: string) {
  const names = (await source.names()).filter((name) => name > after);
  const page = names.slice(0, PAGE);
  const skills: ServedSkill[] = [];
  for (const name of page) {
    const skill = await source.skill(name);
    if (skill) skills.push(skill);
  }
  return { skills, ...(names.length > PAGE ? { next: page.at(-1)! } : {}) };
}

const uriOf = (name: string, path: string): string =>
  [`${SCHEME}${name}`, ...path.split('/').map(encodeURIComponent)].join('/');

/** `path` is '' for the folder of a skill. */
function partsOf(uri: string): { name: string; path: string } | undefined {
  if (!isSkillUri(uri) || uri.endsWith('/')) return undefined;
  const [name = '', ...path] = uri.slice(SCHEME.length).split('/');
  try {
    return { name, path: path.map(decodeURIComponent).join('/') };
  } catch {
    return undefined;
  }
}

const entryOf = ({ name, frontmatter, files }: ServedSkill): object => ({
  uri: uriOf(name, SKILL),
  frontmatter,
  resources: files.map(({ path, digest, size }) => ({ uri: uriOf(name, path), digest, size })),
});

const resourceOf = (
  { name, description }: ServedSkill,
  { path, size }: ServedSkill['files'][number],
): Resource => ({
  uri: uriOf(name, path),
  ...(path === SKILL ? { name, description } : { name: path }),
  mimeType: mimeTypeOf(path),
  size,
});

/** What is directly in a folder of a skill; undefined: there is no such folder. */
function childrenOf(skill: ServedSkill, folder: string): Resource[] | undefined {
  const prefix = folder === '' ? '' : `${folder}/`;
  const inside = skill.files.filter(({ path }) => path.startsWith(prefix));
  if (inside.length === 0) return undefined;
  const children = new Map<string, Resource>();
  for (const file of inside) {
    const [child = '', ...deeper] = file.path.slice(prefix.length).split('/');
    const uri = uriOf(skill.name, `${prefix}${child}`);
    children.set(
      child,
      deeper.length > 0
        ? { uri, name: child, mimeType: FOLDER_TYPE }
        : { ...resourceOf(skill, file), ...(file.path === SKILL ? {} : { name: child }) },
    );
  }
  return [...children.values()];
}

async function indexOf(source: SkillSource): Promise<string> {
  const skills: object[] = [];
  let files = 0;
  for (const name of await source.names()) {
    const skill = await source.skill(name);
    if (!skill) continue;
    const { digest } = skill.files.find(({ path }) => path === SKILL)!;
    files += skill.files.length;
    skills.push({
      name,
      type: 'skill-md',
      description: skill.description,
      url: uriOf(name, SKILL),
      digest,
      ...(files > INDEX_FILES_MAX
        ? {}
        : {
            files: skill.files.map((file) => ({
              url: uriOf(name, file.path),
              digest: file.digest,
              size: file.size,
            })),
          }),
    });
  }
  return JSON.stringify({ $schema: INDEX_SCHEMA, skills });
}
