/**
 * JSON text of the generated schema files: a value that fits into one line is written on one line,
 * so that a small definition takes one line and a change of it shows as one line of a diff.
 */

/** Wider than code: tools read these files, and users see them only in diffs. */
const COLUMNS_MAX = 400;

/** The text of `value`, which must be plain JSON. Ends with a line feed. */
export const jsonText = (value: unknown): string => `${fitted(value, '', 0)}\n`;

/** `column` counts what precedes the value on its line. */
function fitted(value: unknown, indent: string, column: number): string {
  const line = onOneLine(value);
  if (column + line.length <= COLUMNS_MAX || typeof value !== 'object' || value === null)
    return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => inner + fitted(item, inner, inner.length));
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const fields = Object.entries(value).map(([key, field]) => {
    const start = `${inner}${JSON.stringify(key)}: `;
    return start + fitted(field, inner, start.length);
  });
  return `{\n${fields.join(',\n')}\n${indent}}`;
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([key, field]) => `${JSON.stringify(key)}: ${onOneLine(field)}`,
  );
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}
