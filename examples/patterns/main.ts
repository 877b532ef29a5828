/**
 * Run it with `npm run example -- delegation`: runs one of the patterns and prints the agent's
 * answer and a diagram of the run. `--model anthropic/claude-…` uses a real model whose key is in
 * the environment; `--out FILE` writes the diagram to a file. `--folder` is where the patterns are,
 * by default `examples/patterns`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PATTERNS } from './patterns.ts';
import { play } from './play.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    model: { type: 'string' },
    out: { type: 'string' },
    folder: { type: 'string', default: 'examples/patterns' },
  },
});
const [name = ''] = positionals;
const pattern = PATTERNS[name];
if (pattern === undefined) {
  console.error(`usage: npm run example -- PATTERN [--model provider/model] [--out FILE]
patterns: ${Object.keys(PATTERNS).join(', ')}`);
  process.exit(2);
}
const configFile = join(values.folder, name, 'troupe.json5');
const { model, out } = values;
const { answers, picture } = await play(pattern, {
  configFile,
  env: process.env,
  ...(model === undefined ? {} : { model }),
});
for (const answer of answers) console.log(`${answer}\n`);
if (out === undefined) console.log(picture);
else {
  writeFileSync(out, picture);
  console.log(`the diagram is in ${out}`);
}
