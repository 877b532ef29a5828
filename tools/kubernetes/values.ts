/**
 * Values of a chart inside manifests. A manifest is written once: where an operator may choose, it
 * has a value with its default. Rendered plainly it has the default; as a template of a chart it
 * has `{{ .Values.PATH }}`, and the defaults are the chart's `values.yaml`.
 *
 * Invariant: a template holds no other expression, so that a few lines can expand it.
 */
import { stringify } from 'yaml';

type Scalar = string | number | boolean;

/** Marks of a value inside a manifest: the whole scalar, or a part of a text. */
const whole = (path: string): string => `__WHOLE_${path}__`;
const part = (path: string): string => `__PART_${path}__`;

const MARKS = /__(WHOLE|PART)_([A-Za-z0-9.]+?)__/g;

/** The values of one chart, in the order in which its manifests name them. */
export class Values {
  readonly #defaults = new Map<string, Scalar>();

  /** A value that is a whole number, text or truth value of a manifest. */
  whole<T extends Scalar>(path: string, initially: T): T {
    this.#set(path, initially);
    return whole(path) as unknown as T;
  }

  /** A value inside a text. */
  part(path: string, initially: Scalar): string {
    this.#set(path, initially);
    return part(path);
  }

  #set(path: string, initially: Scalar): void {
    if ((this.#defaults.get(path) ?? initially) !== initially)
      throw new Error(`the value ${path} has two defaults`);
    this.#defaults.set(path, initially);
  }

  /** The manifest with the defaults. */
  plain(manifest: object): object {
    return JSON.parse(JSON.stringify(manifest), (_, value: unknown) =>
      typeof value === 'string' ? this.#filled(value) : value,
    ) as object;
  }

  #filled(text: string): Scalar {
    const [, path] = /^__WHOLE_([A-Za-z0-9.]+)__$/.exec(text) ?? [];
    if (path !== undefined) return this.#defaults.get(path)!;
    return text.replaceAll(MARKS, (_, __, name: string) => String(this.#defaults.get(name)!));
  }

  /** The manifest as a template. A text is in quotes, so that any text may be filled in. */
  template(manifest: object): string {
    return yamlText(manifest).replaceAll(MARKS, (_, kind: string, path: string) => {
      const expression = `{{ .Values.${path} }}`;
      const isText = typeof this.#defaults.get(path) === 'string';
      return kind === 'WHOLE' && isText ? `"${expression}"` : expression;
    });
  }

  /** The contents of `values.yaml`. */
  yaml(): string {
    const tree: Record<string, unknown> = {};
    for (const [path, value] of this.#defaults) {
      const keys = path.split('.');
      let at = tree;
      for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Record<string, unknown>;
      at[keys.at(-1)!] = value;
    }
    return yamlText(tree);
  }
}

export const yamlText = (value: object): string =>
  stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
