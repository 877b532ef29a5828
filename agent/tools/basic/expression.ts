/**
 * Arithmetic expressions, parsed by recursive descent: one function per level of precedence.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = sign { ("*" | "/" | "%") sign }
 *     sign    = ("-" | "+") sign | power
 *     power   = value [ "^" sign ]                        right associative, -2^2 = -4
 *     value   = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
 *
 * No part of the text is executed as code. Length and depth are limited, and so are time and stack.
 */

export const expressionCharactersMax = 1_000;
/** Maximum nesting of parentheses, signs and powers. */
const depthMax = 100;

/** A syntax error, or an expression without a value. The message is for its author. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const constants: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

const ofOne: Readonly<Record<string, (x: number) => number>> = {
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  abs: Math.abs,
  round: Math.round,
  floor: Math.floor,
  ceil: Math.ceil,
  ln: Math.log,
  log10: Math.log10,
  log2: Math.log2,
  exp: Math.exp,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
};

const ofMany: Readonly<Record<string, (values: readonly number[]) => number>> = {
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  sum: (values) => values.reduce((total, value) => total + value, 0),
};

/** @throws ExpressionError, also when the value is not finite */
export const evaluate = (expression: string): number => {
  if (expression.length > expressionCharactersMax) {
    throw new ExpressionError(
      `The expression is longer than ${expressionCharactersMax} characters`,
    );
  }
  const value = new Reader(expression).whole();
  if (Number.isFinite(value)) return value;
  throw new ExpressionError(
    Number.isNaN(value)
      ? 'The expression has no value among the real numbers (0/0, or the root of a negative number)'
      : 'The value is infinite (division by zero) or greater than 1.8e308',
  );
};

const tokenPattern =
  /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z][a-z0-9]*)|(\*\*|[-+*/%^(),×÷−]))/giy;
const sameSign: Readonly<Record<string, string>> = { '×': '*', '÷': '/', '−': '-', '**': '^' };

type Token = {
  readonly kind: 'number' | 'name' | 'sign' | 'end';
  readonly text: string;
  readonly at: number;
};

class Reader {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(expression: string) {
    this.#tokens = tokensOf(expression);
  }

  whole(): number {
    const value = this.#sum();
    const token = this.#peek();
    if (token.kind !== 'end') throw unexpected(token);
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value += this.#product();
      else if (this.#take('-')) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#sign();
    for (;;) {
      if (this.#take('*')) value *= this.#sign();
      else if (this.#take('/')) value /= this.#sign();
      else if (this.#take('%')) value %= this.#sign();
      else return value;
    }
  }

  /** All nesting passes through here, so the depth is checked here. */
  #sign(): number {
    if (++this.#depth > depthMax) {
      throw new ExpressionError(`The expression is nested deeper than ${depthMax} levels`);
    }
    const value = this.#take('-') ? -this.#sign() : this.#take('+') ? this.#sign() : this.#power();
    this.#depth--;
    return value;
  }

  #power(): number {
    const base = this.#value();
    return this.#take('^') ? base ** this.#sign() : base;
  }

  #value(): number {
    const token = this.#peek();
    this.#next++;
    if (token.kind === 'number') return Number(token.text);
    if (token.kind === 'name') return this.#named(token);
    if (token.kind === 'sign' && token.text === '(') return this.#closed();
    throw unexpected(token);
  }

  #named(token: Token): number {
    const name = token.text.toLowerCase();
    if (!this.#take('(')) {
      if (Object.hasOwn(constants, name)) return constants[name] as number;
      throw unknownName(token);
    }
    const values = this.#arguments();
    if (Object.hasOwn(ofMany, name)) return (ofMany[name] as (typeof ofMany)[string])(values);
    if (!Object.hasOwn(ofOne, name)) throw unknownName(token);
    if (values.length === 1) return (ofOne[name] as (typeof ofOne)[string])(values[0] as number);
    throw new ExpressionError(`${name} takes one number, not ${values.length}`);
  }

  #arguments(): number[] {
    const values = [this.#sum()];
    while (this.#take(',')) values.push(this.#sum());
    this.#expect(')');
    return values;
  }

  #closed(): number {
    const value = this.#sum();
    this.#expect(')');
    return value;
  }

  #peek(): Token {
    // the last token is `end`, and no successful read advances past it
    return this.#tokens[Math.min(this.#next, this.#tokens.length - 1)] as Token;
  }

  #take(text: string): boolean {
    const token = this.#peek();
    if (token.kind !== 'sign' || token.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw unexpected(this.#peek(), text);
  }
}

const tokensOf = (expression: string): Token[] => {
  const tokens: Token[] = [];
  const text = expression.trimEnd();
  const pattern = new RegExp(tokenPattern);
  while (pattern.lastIndex < text.length) {
    const from = pattern.lastIndex;
    const match = pattern.exec(text);
    if (!match)
      throw new ExpressionError(
        `Cannot read "${text.slice(from, from + 10).trim()}" at ${from + 1}`,
      );
    const [whole, number, name, sign = ''] = match;
    const at = match.index + whole.length - (number ?? name ?? sign).length;
    if (number) tokens.push({ kind: 'number', text: number, at });
    else if (name) tokens.push({ kind: 'name', text: name, at });
    else tokens.push({ kind: 'sign', text: sameSign[sign] ?? sign, at });
  }
  return [...tokens, { kind: 'end', text: '', at: text.length }];
};

const unexpected = (token: Token, wanted?: string): ExpressionError => {
  const found = token.kind === 'end' ? 'the end' : `"${token.text}"`;
  return new ExpressionError(
    `${wanted ? `Expected "${wanted}" but found` : 'Did not expect'} ${found} at ${token.at + 1}`,
  );
};

const unknownName = ({ text, at }: Token): ExpressionError =>
  new ExpressionError(
    `Unknown name "${text}" at ${at + 1}. Known: ${[...Object.keys(constants), ...Object.keys(ofOne), ...Object.keys(ofMany)].join(', ')}`,
  );
