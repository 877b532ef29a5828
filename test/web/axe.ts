/** The accessibility errors that axe-core finds in a page of a real browser. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * One line per violation of WCAG 2.2 A and AA and of the best practices. The page's security policy
 * forbids inline scripts; so the source is evaluated through the debugger, not as an element.
 */
export const axeViolations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(source);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<AxeResults> };
    };
    return (await axe.run()).violations;
  });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
};
