/** A part of a process that is opened after the parts that will use it exist. */
export class Late<Value> {
  readonly value: Promise<Value>;
  #resolve: (value: Value) => void = () => {};

  constructor() {
    this.value = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(value: Value): void {
    this.#resolve(value);
  }
}
