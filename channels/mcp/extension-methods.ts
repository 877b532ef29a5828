/** The methods of the extension for skills, and how the SDK gets the parameters of such methods. */
import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import type { McpSkills } from './catalog.ts';

/** Checks the parameters of a method, as the SDK asks for it (Standard Schema). */
export const textParams = <Required extends string, Optional extends string = never>(
  required: readonly Required[],
  optional: readonly Optional[] = [],
) => {
  type Params = Record<Required, string> & Partial<Record<Optional, string>>;
  return {
    '~standard': {
      version: 1 as const,
      vendor: 'troupe',
      validate: (value: unknown) => {
        const given = (value ?? {}) as Record<string, unknown>;
        const isText = (name: string) => typeof given[name] === 'string' && given[name] !== '';
        const wrong =
          required.find((name) => !isText(name)) ??
          optional.find((name) => given[name] !== undefined && !isText(name));
        if (wrong !== undefined)
          return { issues: [{ message: `${wrong} must be a text`, path: [wrong] }] };
        const named = [...required, ...optional].filter((name) => given[name] !== undefined);
        return { value: Object.fromEntries(named.map((name) => [name, given[name]])) as Params };
      },
      types: undefined as unknown as { input: Params; output: Params },
    },
  };
};

/** How long clients may cache what a caller sees of skills: it changes with the files. */
const CACHE = { ttlMs: 0, cacheScope: 'private' } as const;

/** `skills/list`, `skills/get` and `resources/directory/read`. */
export function serveSkills(
  server: Server,
  skills: McpSkills,
  protocolErrors: <T>(result: Promise<T>) => Promise<T>,
): void {
  const list = { params: textParams<never, 'cursor'>([], ['cursor']) };
  server.setRequestHandler('skills/list', list, async ({ cursor }) => ({
    resultType: 'complete',
    ...(await protocolErrors(skills.list(cursor))),
    ...CACHE,
  }));
  server.setRequestHandler(
    'skills/get',
    { params: textParams<'uri'>(['uri']) },
    async ({ uri }) => {
      const skill = await protocolErrors(skills.get(uri));
      if (!skill) throw invalid(`there is no skill ${uri.slice(0, 200)}`);
      return { resultType: 'complete', skill, ...CACHE };
    },
  );
  const directory = { params: textParams<'uri', 'cursor'>(['uri'], ['cursor']) };
  server.setRequestHandler('resources/directory/read', directory, async ({ uri, cursor }) => {
    // A folder has one page, so no cursor was ever named.
    if (cursor !== undefined) throw invalid('the cursor is none that a list named');
    const resources = await protocolErrors(skills.directory(uri));
    if (!resources) throw invalid(`there is no folder ${uri.slice(0, 200)}`);
    return { resultType: 'complete', resources };
  });
}

const invalid = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);
