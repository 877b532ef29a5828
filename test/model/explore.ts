/**
 * Explorer: visits every reachable state of a model and stops at the first one that breaks an
 * invariant.
 *
 * It owns the search, the set of visited states and the trace to a violation, and is independent of
 * the model. A visited state is stored as a 64-bit fingerprint of its canonical text. With a
 * million states, the probability that two of them share a fingerprint, so that one is missed, is
 * below one in ten million.
 *
 * Depth-first search needs less memory and finds whether a violation exists. Breadth-first search
 * stores the path to each state and finds the shortest path to a violation.
 */

/** One possible next step. */
export type Step<State> = {
  /** id of the rule it exercises, or `fault` */
  readonly rule: string;
  readonly label: string;
  readonly next: State;
  /**
   * True: the step happens eventually. False: a fault or a free choice, which may never happen.
   */
  readonly progress: boolean;
};

export type Violation = { readonly invariant: string; readonly why: string };

export interface Model<State> {
  initial(): State;
  steps(state: State): readonly Step<State>[];
  /** States with equal texts have equal successors. */
  identify(state: State): string;
  /** Checked in every state. */
  check(state: State): Violation | undefined;
  /** Checked where no step makes progress: all accepted work must be done. */
  checkAtRest(state: State): Violation | undefined;
}

export type Order = 'depth first' | 'breadth first';

export type Limits = { readonly statesMax?: number; readonly millisecondsMax?: number };

export type Exploration = {
  readonly states: number;
  readonly transitions: number;
  /** states without a step that makes progress */
  readonly quiescent: number;
  /** steps taken, by rule */
  readonly byRule: ReadonlyMap<string, number>;
  /** false: a limit ended the search, or a violation did */
  readonly complete: boolean;
  readonly milliseconds: number;
  /** `trace` is empty after a depth-first search */
  readonly violation?: Violation & { readonly trace: readonly string[] };
};

type Node<State> = { readonly state: State; readonly label: string; readonly parent?: Node<State> };

/** Visits all reachable states once, within the limits (default: none). */
export function explore<State>(
  model: Model<State>,
  order: Order = 'depth first',
  { statesMax = Infinity, millisecondsMax = Infinity }: Limits = {},
): Exploration {
  const began = Date.now();
  const seen = new FingerprintSet();
  const byRule = new Map<string, number>();
  const work = new Worklist<Node<State>>(order);
  let transitions = 0;
  let quiescent = 0;

  const report = (complete: boolean, violation?: Exploration['violation']): Exploration => ({
    states: seen.size,
    transitions,
    quiescent,
    byRule,
    complete,
    milliseconds: Date.now() - began,
    ...(violation && { violation }),
  });

  const initial = model.initial();
  seen.add(model.identify(initial));
  work.put({ state: initial, label: 'start' });

  for (let node = work.take(); node; node = work.take()) {
    const broken = model.check(node.state);
    if (broken) return report(false, { ...broken, trace: traceTo(node) });
    let progress = false;
    for (const step of model.steps(node.state)) {
      transitions++;
      progress ||= step.progress;
      byRule.set(step.rule, (byRule.get(step.rule) ?? 0) + 1);
      if (!seen.add(model.identify(step.next))) continue;
      work.put(
        order === 'breadth first'
          ? { state: step.next, label: `${step.rule}: ${step.label}`, parent: node }
          : { state: step.next, label: '' },
      );
    }
    if (!progress) {
      quiescent++;
      const undone = model.checkAtRest(node.state);
      if (undone) return report(false, { ...undone, trace: traceTo(node) });
    }
    if (seen.size > statesMax || Date.now() - began > millisecondsMax) return report(false);
  }
  return report(true);
}

function traceTo<State>(last: Node<State>): string[] {
  const labels: string[] = [];
  for (let node: Node<State> | undefined = last; node?.parent; node = node.parent) {
    labels.push(node.label);
  }
  return labels.reverse();
}

/** A stack, or a queue that releases removed entries. */
class Worklist<Item> {
  readonly #order: Order;
  #items: Item[] = [];
  #head = 0;

  constructor(order: Order) {
    this.#order = order;
  }

  put(item: Item): void {
    this.#items.push(item);
  }

  take(): Item | undefined {
    if (this.#order === 'depth first') return this.#items.pop();
    if (this.#head > 10_000) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return this.#items[this.#head++];
  }
}

/** Set of 64-bit fingerprints: open addressing over two arrays of 32-bit halves. */
class FingerprintSet {
  size = 0;
  #low = new Uint32Array(1 << 16);
  #high = new Uint32Array(1 << 16);

  /** True if the text was not in the set. */
  add(text: string): boolean {
    const [low, high] = fingerprint(text);
    if (this.size * 4 > this.#low.length * 3) this.#grow();
    return this.#insert(low, high);
  }

  /** A high half of zero marks a free slot; `fingerprint` never returns it. */
  #insert(low: number, high: number): boolean {
    const mask = this.#low.length - 1;
    let place = low & mask;
    while (this.#high[place] !== 0) {
      if (this.#low[place] === low && this.#high[place] === high) return false;
      place = (place + 1) & mask;
    }
    this.#low[place] = low;
    this.#high[place] = high;
    this.size++;
    return true;
  }

  #grow(): void {
    const [low, high] = [this.#low, this.#high];
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(low.length * 2);
    this.size = 0;
    for (let place = 0; place < low.length; place++) {
      if (high[place] !== 0) this.#insert(low[place] as number, high[place] as number);
    }
  }
}

/**
 * Two multiplicative hashes over the UTF-16 units (FNV-1a and MurmurHash's constant), mixed at the
 * end.
 */
function fingerprint(text: string): [low: number, high: number] {
  let low = 0x9e3779b9 | 0;
  let high = 0x85ebca6b | 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x5bd1e995);
    high ^= high >>> 13;
  }
  low = Math.imul(low ^ (low >>> 15), 0x2c1b3c6d);
  low ^= low >>> 12;
  high = Math.imul(high ^ low, 0x297a2d39);
  high ^= high >>> 15;
  return [low >>> 0, high >>> 0 || 1];
}
