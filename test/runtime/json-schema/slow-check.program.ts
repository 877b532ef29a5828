/** Checks a value for about a tenth of a second. Prints when that begins, then the errors. */
import { writeSync } from 'node:fs';
import { compileSchema } from '../../../runtime/json-schema/compile-schema.ts';

const LONG_MS = 80;

const check = compileSchema({ type: 'array', uniqueItems: true });
let items = Array.from({ length: 500 }, (_, n) => ({ n }));
for (let tookMs = 0; tookMs < LONG_MS; ) {
  items = Array.from({ length: Math.ceil(items.length * 1.1) }, (_, n) => ({ n }));
  const from = performance.now();
  check(items);
  tookMs = performance.now() - from;
}
writeSync(1, 'begins\n');
writeSync(1, `${JSON.stringify(check(items))}\n`);
