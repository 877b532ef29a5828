const ABOUT_CHARACTERS_MAX = 80;

/** A call's arguments in one line: a single value alone, several as JSON. */
export const shortArguments = (args: unknown): string => {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : [args];
  const [first] = values;
  const text =
    values.length === 1 && typeof first === 'string' ? first : JSON.stringify(args ?? '');
  const line = text.replace(/\s+/g, ' ');
  if (line === '{}' || line === '""') return '';
  return line.length > ABOUT_CHARACTERS_MAX ? `${line.slice(0, ABOUT_CHARACTERS_MAX)}…` : line;
};

/** All arguments of a call; an empty text for none. */
export const longArguments = (args: unknown): string => {
  const text = JSON.stringify(args ?? {}, null, 2);
  return text === '{}' || text === '""' ? '' : text;
};
