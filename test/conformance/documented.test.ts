/** docs/conformance.md describes the suite. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PARTS } from '../../conformance/check.ts';
import { ProfileSchema, readProfile, SHIPPED_PROFILE } from '../../conformance/profile.ts';
import { CHECKS } from '../../conformance/suite.ts';
import { OVER_HTTP } from './over-http.ts';

const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

it('has a table of all rules by part', () => {
  const rules = PARTS.map((part) => {
    const rows = CHECKS.filter((check) => check.part === part);
    const cells = rows.map(({ id, rule }) => [`\`${id}\``, rule]);
    return `**${part}**\n\n${table(['id', 'rule'], cells)}\n`;
  });
  expect(page).toContain(rules.join('\n'));
});

it('has a table of the parts of a profile', () => {
  const parts = Object.entries(ProfileSchema.properties.actions.properties);
  const shipped: Readonly<Record<string, string | undefined>> = SHIPPED_PROFILE.actions;
  const rows = parts.map(([part, schema]) => [
    `\`${part}\``,
    String((schema as { description?: string }).description),
    `\`${shipped[part]}\``,
  ]);
  expect(page).toContain(table(['part', 'what the action does', 'ours'], rows));
});

it('shows a valid profile', () => {
  const [, example = ''] = /```json\n(.*?)```/s.exec(page) ?? [];
  expect(readProfile(example).actions.echo).toBeTypeOf('string');
});

it('lists the rules that are skipped with NATS alone', () => {
  expect(page).toContain(`${OVER_HTTP.map((id) => `\`${id}\``).join(', ')}.`);
});
