/** The tools of a subagent, for arbitrary lists. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Listed, names } from '../../../agent/policy/lists.ts';
import { subagentTools } from '../../../agent/policy/subagent-tools.ts';

const installed: readonly Listed[] = [
  { name: 'read', groups: ['fs'] },
  { name: 'write', groups: ['fs'] },
  { name: 'exec', aliases: ['bash'], groups: ['runtime'] },
  { name: 'web_search', groups: ['web'] },
];
const places = { allow: 'the allowed', deny: 'the denied' };
const entry = fc.constantFrom(
  'read',
  'write',
  'exec',
  'bash',
  'web_search',
  'group:fs',
  'group:web',
);
const lists = fc.record({
  allow: fc.array(entry),
  deny: fc.array(fc.oneof(entry, fc.constant('*'))),
});

/** The policy of a session with these lists. */
const has = (allow: readonly string[], deny: readonly string[], tool: Listed): boolean =>
  !deny.some((one) => names(one, tool)) &&
  (allow.length === 0 || allow.some((one) => names(one, tool)));

describe('the tools of a subagent', () => {
  it('are the requested ones that the lists allow, and no other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(entry, fc.constant('fly'))),
        lists,
        (asked, { allow, deny }) => {
          const given = subagentTools(asked, { allow, deny }, places, installed);
          for (const tool of installed) {
            const isAsked = asked.some((one) => names(one, tool));
            const isLeft = has(allow, deny, tool);
            expect(has(given.allow, given.deny, tool)).toBe(isAsked && isLeft);
            const cuts = given.cut.filter((cut) => cut.tool === tool.name);
            expect(cuts).toHaveLength(isAsked && !isLeft ? 1 : 0);
          }
          const isFlying = given.cut.some(({ tool }) => tool === 'fly');
          expect(isFlying).toBe(asked.includes('fly'));
        },
      ),
    );
  });

  it('never exceed the grant of a requesting subagent', () => {
    const asking = fc.option(fc.array(fc.oneof(entry, fc.constant('*'))), { nil: undefined });
    fc.assert(
      fc.property(asking, lists, lists, (asked, of, own) => {
        const given = subagentTools(asked, of, places, installed, own);
        for (const tool of installed) {
          const isAsked = !asked || asked.some((one) => names(one, tool));
          const isLeft = has(of.allow, of.deny, tool) && has(own.allow, own.deny, tool);
          expect(has(given.allow, given.deny, tool)).toBe(isAsked && isLeft);
        }
      }),
    );
    const none = subagentTools(['exec'], { allow: [], deny: [] }, places, installed, {
      allow: ['read'],
      deny: [],
    });
    expect(none.cut).toEqual([{ tool: 'exec', rule: 'the tools that you were granted' }]);
  });

  it('are those of the lists when none is requested by name', () => {
    const given = { allow: ['read'], deny: ['group:web'] };
    for (const asked of [undefined, ['*'], ['write', '*']])
      expect(subagentTools(asked, given, places, installed)).toEqual({ ...given, cut: [] });
  });

  it('exclude refused tools, with the list that refuses each', () => {
    const given = { allow: ['group:fs'], deny: ['write'] };
    expect(subagentTools(['write', 'bash', 'read'], given, places, installed)).toEqual({
      allow: ['read'],
      deny: ['write'],
      cut: [
        { tool: 'write', rule: 'the denied' },
        { tool: 'exec', rule: 'the allowed' },
      ],
    });
  });
});
