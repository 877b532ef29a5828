/** Writes docs/operations.md: `node tools/run.mjs tools/generate-operations.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESOURCES } from '../operations/index.ts';
import { operationsPage } from '../operations/reference.ts';

writeFileSync(join(process.cwd(), 'docs', 'operations.md'), operationsPage(RESOURCES));
