/**
 * Writes the generated files of protocols/sdk/: `node tools/run.mjs tools/generate-sdk.ts`. Runs in
 * the repository's root. `npm run verify` runs it and compares.
 */
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { shippedSpecs } from '../compose/actions.ts';
import { sdkFiles } from './sdk-files.ts';

for (const [path, text] of await sdkFiles(shippedSpecs())) {
  const file = join(process.cwd(), 'protocols', 'sdk', path);
  if (fs.existsSync(file) && fs.readFileSync(file, 'utf8') === text) continue;
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  console.error(`protocols/sdk/${path}: written`);
}
