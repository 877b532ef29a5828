/** `calculate`: the value of an arithmetic expression. */
import { Type } from '@sinclair/typebox';
import { evaluate, expressionCharactersMax, ExpressionError } from './expression.ts';
import { defineTool } from '../tool.ts';

export const calculateTool = defineTool({
  name: 'calculate',
  groups: ['basic'],
  description:
    'Calculates an arithmetic expression: numbers, + - * / % ^, parentheses, pi, e, and the functions ' +
    'sqrt, cbrt, abs, round, floor, ceil, ln, log10, log2, exp, sin, cos, tan (radians), min, max, sum.',
  parameters: Type.Object(
    {
      expression: Type.String({
        minLength: 1,
        maxLength: expressionCharactersMax,
        description: 'for example (2 + 3) * sqrt(16)',
      }),
    },
    { additionalProperties: false },
  ),
  class: 'repeatable',
  parallel: true,
  async run({ expression }) {
    try {
      return { text: written(evaluate(expression)) };
    } catch (error) {
      if (error instanceof ExpressionError) return { text: error.message, isError: true };
      throw error;
    }
  },
});

/**
 * Rounding to 15 digits hides errors of binary fractions: 0.1 + 0.2 is 0.3. Integers keep all
 * digits.
 */
const written = (value: number): string =>
  Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(15)));
