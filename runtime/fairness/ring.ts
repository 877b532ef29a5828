/**
 * Ring: the flows with waiting items, in a circle, and the current one: the deficit round robin
 * itself. A visit gives a flow credit by its weight. It is served while its credit covers its next
 * item; then the next flow is visited. The rest of the credit stays for the next round. A flow that
 * leaves loses its credit; a new flow is visited last.
 *
 * `next` is O(1) while items cost no more than the credit of a visit; otherwise an item needs cost
 * / (weight x quantum) visits.
 */
export abstract class Flow {
  /** positive; applied from its next visit on when it is changed */
  weight: number;
  credit = 0;
  /** it has received its credit in this visit */
  visited = false;
  before: Flow = this;
  after: Flow = this;

  constructor(weight: number) {
    this.weight = weight;
  }

  /** Cost of its next item; called only for flows in a ring. */
  abstract get headCost(): number;
}

export class Ring<F extends Flow> {
  readonly #quantum: number;
  #turn: F | undefined;

  constructor(quantum: number) {
    this.#quantum = quantum;
  }

  /** The flow whose next item is to be served; the same until it is charged or a flow leaves. */
  next(): F | undefined {
    if (!this.#turn) return undefined;
    for (;;) {
      const flow: F = this.#turn;
      if (!flow.visited) {
        flow.visited = true;
        flow.credit += this.#quantum * flow.weight;
      }
      if (flow.headCost <= flow.credit) return flow;
      flow.visited = false;
      this.#turn = flow.after as F;
    }
  }

  charge(flow: F, cost: number): void {
    flow.credit -= cost;
  }

  add(flow: F): void {
    const turn = this.#turn;
    if (!turn) {
      this.#turn = flow;
      return;
    }
    flow.before = turn.before;
    flow.after = turn;
    turn.before.after = flow;
    turn.before = flow;
  }

  delete(flow: F): void {
    if (this.#turn === flow) this.#turn = flow.after === flow ? undefined : (flow.after as F);
    flow.before.after = flow.after;
    flow.after.before = flow.before;
  }
}
