/** A tool that computes the postage of a parcel. Its arguments are validated before it runs. */
import { Type } from '@sinclair/typebox';
import { defineTool } from 'troupe/agents';

const CENTS_PER_KG = { DE: 250, VN: 900 } as const;
const COUNTRIES = Object.keys(CENTS_PER_KG) as (keyof typeof CENTS_PER_KG)[];

export const postage = defineTool({
  name: 'postage',
  description: 'What a parcel costs, in euros, by its weight and the country that it goes to.',
  parameters: Type.Object(
    {
      kilograms: Type.Number({ exclusiveMinimum: 0, maximum: 30 }),
      country: Type.Union(COUNTRIES.map((code) => Type.Literal(code))),
    },
    { additionalProperties: false },
  ),
  // A repeated call has no effects, so it may run again after a crash.
  class: 'repeatable',
  parallel: true,
  async run({ kilograms, country }) {
    const cents = Math.ceil(kilograms) * CENTS_PER_KG[country];
    return { text: `${(cents / 100).toFixed(2)} euros` };
  },
});
