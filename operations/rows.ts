/** Reads the rows of an index page by page, so that other work runs between the pages. */
import { defined } from '../protocols/defined.ts';
import type { System } from '../runtime/index.ts';

const PAGE = 1_000;

/** Rows in key order. A row written meanwhile may or may not be included. */
export async function* rowsOf<V>(
  index: System['index'],
  name: string,
  tenant: string,
  prefix = '',
): AsyncGenerator<V> {
  for (let after: string | undefined; ; ) {
    const page = index.list<V>(name, tenant, { prefix, limit: PAGE, ...defined({ after }) });
    for (const { value } of page) yield value;
    if (page.length < PAGE) return;
    after = page.at(-1)?.key;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
