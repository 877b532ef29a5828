/** ApiReader: finds the declarations behind the exports of a declaration file. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** A name in another file; `*` is its namespace. */
type Reference = { readonly file: string; readonly name: string };

type File = {
  /** declarations by their local names; overloads are joined */
  readonly declared: Map<string, string>;
  readonly imported: Map<string, Reference>;
  /** by exported name: a local name, or a name in another file */
  readonly exported: Map<string, string | Reference>;
  readonly stars: string[];
};

export type Surface = {
  /** in the order of their names */
  readonly exported: readonly string[];
  /** what they refer to, directly or indirectly */
  readonly internal: readonly string[];
};

const SCHEMA = /^(export )?declare const \w+: (import\("@sinclair\/typebox"\)\.)?T[A-Z]\w+</;
/** A table of them, or of codes; the types that refer to it name what they use. */
const TABLE = /^(export )?declare const \w+: \{/;
const TABLE_MAX = 4_000;
const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const nameOf = (node: { type: string; name?: string; value?: unknown }): string =>
  node.name ?? String(node.value);

export class ApiReader {
  readonly #files = new Map<string, File>();

  /** @param path of the declaration file of an entry */
  surface(path: string): Surface {
    const found = new Map<string, string>();
    const roots = new Set<string>();
    const exported = [...this.#exportsOf(path)].sort(([a], [b]) => byName(a, b));
    const texts = exported.map(([name, reference]) => {
      const { file, name: local } = this.#resolved(reference);
      roots.add(`${file}#${local}`);
      this.#collect(file, local, found);
      const text = found.get(`${file}#${local}`) ?? `// ${reference.name} of ${reference.file}`;
      return local === name ? text : `// as ${name}\n${text}`;
    });
    const others = [...found].filter(([key]) => !roots.has(key)).map(([, text]) => text);
    return { exported: texts, internal: others.sort(byName) };
  }

  #exportsOf(path: string, seen = new Set<string>()): Map<string, Reference> {
    if (seen.has(path)) return new Map();
    seen.add(path);
    const { exported, stars } = this.#read(path);
    const all = new Map<string, Reference>();
    for (const star of stars)
      for (const [name, reference] of this.#exportsOf(star, seen)) all.set(name, reference);
    for (const [name, target] of exported)
      all.set(name, typeof target === 'string' ? { file: path, name: target } : target);
    return all;
  }

  /** Follows re-exports and imports to the file that declares the name. */
  #resolved({ file, name }: Reference): Reference {
    if (!existsSync(file) || name === '*') return { file, name };
    const { declared, imported } = this.#read(file);
    if (declared.has(name)) return { file, name };
    const next = imported.get(name) ?? this.#exportsOf(file).get(name);
    const isItself = next?.file === file && next.name === name;
    return next === undefined || isItself ? { file, name } : this.#resolved(next);
  }

  #collect(file: string, name: string, found: Map<string, string>): void {
    const key = `${file}#${name}`;
    if (found.has(key) || !existsSync(file)) return;
    const { declared, imported } = this.#read(file);
    const text = declared.get(name);
    if (text === undefined) return;
    // Schemas of messages have reports of their own, in protocols/schemas.
    if (SCHEMA.test(text) || (text.length > TABLE_MAX && TABLE.test(text))) {
      found.set(key, `declare const ${name}: unknown; // see protocols/schemas`);
      return;
    }
    found.set(key, text);
    for (const [, target = '', inner = ''] of text.matchAll(
      /import\("(\.[^"]+)"\)\.([A-Za-z_$][\w$]*)/g,
    ))
      this.#reach({ file: declarationAt(file, target), name: inner }, found);
    for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) {
      if (word === name) continue;
      if (declared.has(word)) this.#collect(file, word, found);
      const reference = imported.get(word);
      if (reference) this.#reach(reference, found);
    }
  }

  #reach(reference: Reference, found: Map<string, string>): void {
    const { file, name } = this.#resolved(reference);
    this.#collect(file, name, found);
  }

  #read(path: string): File {
    const known = this.#files.get(path);
    if (known) return known;
    const file: File = { declared: new Map(), imported: new Map(), exported: new Map(), stars: [] };
    this.#files.set(path, file);
    // Blanked, so that positions stay.
    const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, (comment) =>
      ' '.repeat(comment.length),
    );
    const { program } = parseSync(path, text);
    for (const statement of program.body) readStatement(path, text, statement, file);
    return file;
  }
}

type Statement = ReturnType<typeof parseSync>['program']['body'][number];

function readStatement(path: string, text: string, statement: Statement, file: File): void {
  const at = (specifier: string) => declarationAt(path, specifier);
  switch (statement.type) {
    case 'ImportDeclaration':
      for (const one of statement.specifiers) {
        const name = one.type === 'ImportSpecifier' ? nameOf(one.imported) : '*';
        file.imported.set(one.local.name, { file: at(statement.source.value), name });
      }
      return;
    case 'ExportAllDeclaration':
      file.stars.push(at(statement.source.value));
      return;
    case 'ExportNamedDeclaration': {
      const { source, declaration } = statement;
      for (const { local, exported } of statement.specifiers)
        file.exported.set(
          nameOf(exported),
          source ? { file: at(source.value), name: nameOf(local) } : nameOf(local),
        );
      if (declaration) declare(text, declaration, statement, file, true);
      return;
    }
    default:
      declare(text, statement, statement, file, false);
  }
}

type Declaration = {
  readonly type: string;
  readonly id?: unknown;
  readonly declarations?: unknown;
};

function declare(
  text: string,
  { id, declarations }: Declaration,
  { start, end }: { readonly start: number; readonly end: number },
  file: File,
  isExported: boolean,
): void {
  const named = (declarations as { id: { name: string } }[] | undefined) ?? (id ? [{ id }] : []);
  for (const { id: one } of named as { id: { name: string } }[]) {
    const before = file.declared.get(one.name);
    const own = withoutGaps(text.slice(start, end));
    file.declared.set(one.name, before === undefined ? own : `${before}\n${own}`);
    if (isExported) file.exported.set(one.name, one.name);
  }
}

/** Without the lines on which only a comment was. */
const withoutGaps = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n');

/** The declaration file of a relative import; the name of a package as it is. */
const declarationAt = (path: string, specifier: string): string =>
  specifier.startsWith('.')
    ? join(dirname(path), specifier.replace(/\.js$/, '.d.ts'))
    : `package ${specifier}`;
