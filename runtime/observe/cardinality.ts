/**
 * Cardinality: limits the number of series of a metric, whatever the values of its labels.
 * Two bounds, because one per label is not enough: a hundred tenants times a hundred principals
 * times every action would still be millions.
 *
 *  1. A `Vocabulary` lets the first values of one label keep their name; all others are `other`.
 *  2. A `SeriesBound` counts sets of labels; past its bound new sets lose tenant and principal, and
 *     past a second one the action too. What is left is a product of two fixed lists.
 *
 * Values that were recorded first keep their name until the process ends, so a series never changes
 * its meaning.
 */
export const OTHER = 'other';

/** The number of distinct values of a label that are kept. */
export class Vocabulary {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** The value itself, or `other`. With `learn: false` a new value is not taken up. */
  fold(value: string | undefined, { learn = true } = {}): string {
    if (value === undefined || value === '') return OTHER;
    if (this.#known.has(value)) return value;
    if (!learn || this.#known.size >= this.#max) return OTHER;
    this.#known.add(value);
    return value;
  }
}

export type Labels = {
  readonly action: string;
  readonly tenant: string;
  readonly principal: string;
  readonly status: string;
  readonly error_code: string;
};

export class SeriesBound {
  readonly #known = new Set<string>();
  readonly #max: number;
  readonly #foldedMax: number;

  /** @param max sets that keep all their labels; @param foldedMax more that keep their action */
  constructor(max: number, foldedMax: number) {
    this.#max = max;
    this.#foldedMax = foldedMax;
  }

  fold(labels: Labels): Labels {
    if (this.#admits(labels, this.#max)) return labels;
    const anonymous = { ...labels, tenant: OTHER, principal: OTHER };
    if (this.#admits(anonymous, this.#max + this.#foldedMax)) return anonymous;
    return { ...anonymous, action: OTHER };
  }

  #admits(labels: Labels, max: number): boolean {
    const { action, tenant, principal, status, error_code } = labels;
    const key = `${action}\n${tenant}\n${principal}\n${status}\n${error_code}`;
    if (this.#known.has(key)) return true;
    if (this.#known.size >= max) return false;
    this.#known.add(key);
    return true;
  }
}
