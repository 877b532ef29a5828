/**
 * Skill: a folder with a SKILL.md whose front matter describes its use. Pure except for the check
 * for required programs. This module is loaded with the first skill, because the YAML parser is
 * large.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';

export type Skill = {
  readonly name: string;
  /** one line */
  readonly description: string;
  /** path for the read tool */
  readonly path: string;
  /** names of environment variables for its commands */
  readonly env: readonly string[];
};

/** A skill, or why it cannot be used, for the report. */
export type ReadSkill = { readonly skill: Skill } | { readonly problem: string };

const FRONT_MATTER = /^\uFEFF?---\r?\n([^]*?)\r?\n---(?:\r?\n|$)/;
const FRONT_MATTER_CHARACTERS_MAX = 16_384;
const DESCRIPTION_CHARACTERS_MAX = 1_024;
const NAMES_MAX = 32;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

export type SkillSurroundings = {
  /** names of the variables with configured values */
  readonly env: ReadonlySet<string>;
  /** search path of programs: `PATH` */
  readonly path: string;
};

/** @param text of the SKILL.md; `path`: where the model reads it */
export function readSkill(path: string, text: string, around: SkillSurroundings): ReadSkill {
  const problem = (why: string): ReadSkill => ({ problem: `${path}: ${why}` });
  let fields: Fields;
  try {
    fields = fieldsOf(frontMatterOf(text));
  } catch (error) {
    return problem((error as Error).message.split('\n')[0]!);
  }
  const missing = fields.always ? undefined : missingOf(fields, around);
  if (missing !== undefined) return problem(missing);
  const { name, description, env } = fields;
  return { skill: { name, description, path, env } };
}

/**
 * The front matter of a SKILL.md, as its author wrote it.
 * @throws Error that says what is wrong
 */
export function frontMatterOf(text: string): Record<string, unknown> {
  const matter = FRONT_MATTER.exec(text)?.[1];
  if (matter === undefined)
    throw new Error(
      'does not begin with front matter: a line ---, name and description, a line ---',
    );
  if (matter.length > FRONT_MATTER_CHARACTERS_MAX)
    throw new Error(`its front matter is longer than ${FRONT_MATTER_CHARACTERS_MAX} characters`);
  // without aliases a small text cannot expand to a large value
  return recordOf(parse(matter, { maxAliasCount: 0, logLevel: 'silent' }));
}

type Fields = Omit<Skill, 'path'> & { readonly bins: readonly string[]; readonly always: boolean };

/** @throws Error that names the invalid field */
function fieldsOf(top: Record<string, unknown>): Fields {
  // other runtimes store here what is not part of the common format
  const { openclaw } = recordOf(top['metadata']);
  const own = { ...recordOf(openclaw), ...top };
  const requires = recordOf(own['requires']);
  const name = textOf(top['name'], 'name');
  if (!NAME.test(name))
    throw new Error('name: at most 64 letters, digits, spaces, dots, dashes and underscores');
  return {
    name,
    description: textOf(top['description'], 'description').slice(0, DESCRIPTION_CHARACTERS_MAX),
    env: [...namesOf(own['env'], 'env', VARIABLE), ...namesOf(requires['env'], 'env', VARIABLE)],
    bins: namesOf(requires['bins'], 'requires.bins', PROGRAM),
    always: own['always'] === true,
  };
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

function textOf(value: unknown, field: string): string {
  const text = typeof value === 'string' ? value.replaceAll(/\s+/g, ' ').trim() : '';
  if (text === '') throw new Error(`${field}: is missing; it is a text`);
  return text;
}

function namesOf(value: unknown, field: string, pattern: RegExp): string[] {
  if (value === undefined || value === null) return [];
  const names = Array.isArray(value) ? value : [value];
  const right = names.every((name) => typeof name === 'string' && pattern.test(name));
  if (!right || names.length > NAMES_MAX)
    throw new Error(`${field}: must be a list of at most ${NAMES_MAX} names`);
  return names as string[];
}

function missingOf({ bins, env }: Fields, around: SkillSurroundings): string | undefined {
  const bin = bins.find((one) => !isProgram(one, around.path));
  if (bin !== undefined) return `left out: it needs the program ${bin}, which is not in PATH`;
  const variable = env.find((one) => !around.env.has(one));
  if (variable !== undefined)
    return `left out: it needs ${variable}; set skills.env.${variable} in the configuration`;
  return undefined;
}

const isProgram = (name: string, path: string): boolean =>
  path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
