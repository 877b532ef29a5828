/**
 * Run it with `npm run example -- delegation`: runs one of the patterns and prints the agent's
 * answer and a diagram of the run. `--model anthropic/claude-…` uses a real model whose key is in
 * the environment; `--out FILE` writes the diagram to a file.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { defined } from '../../protocols/defined.ts';
import { PATTERNS } from './patterns.ts';
import { play } from './play.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { model: { type: 'string' }, out: { type: 'string' } },
});
const [name = ''] = positionals;
const pattern = PATTERNS[name];
if (pattern === undefined) {
  console.error(`usage: npm run example -- PATTERN [--model provider/model] [--out FILE]
patterns: ${Object.keys(PATTERNS).join(', ')}`);
  process.exit(2);
}
const configFile = `examples/patterns/${name}/troupe.json5`;
const { model, out } = values;
const { answers, picture } = await play(pattern, {
  configFile,
  env: process.env,
  ...defined({ model }),
});
for (const answer of answers) console.log(`${answer}\n`);
if (out === undefined) console.log(picture);
else {
  writeFileSync(out, picture);
  console.log(`the diagram is in ${out}`);
}
