/**
 * Wraps comment lines that are too long; part of `npm run format`, because biome does not change
 * comments. Only the paragraph of a long line is changed, from that line on.
 */
const columnsMax = 100;

/** The indentation and mark of a comment line, and its text. */
const commentLine = /^(?<lead>\s*(?:\/\/|\*(?!\/))) (?<gap> *)(?<text>.*)$/;
const oneLineBlock = /^(?<indent>\s*)\/\*\* (?<text>.*) \*\/$/;
/** Text that starts a new item and never continues the line above. */
const ownLine = /^([-*|#@]|\d+\.|[A-Z]\d+[:.]? |```|\p{Lu}\p{L}*:\s)/u;

function wrapText(lead, first, text) {
  const lines = [];
  let line = first;
  for (const word of text.split(/ +/)) {
    const longer = line.endsWith(' ') ? line + word : `${line} ${word}`;
    if (longer.length <= columnsMax || line === first) line = longer;
    else {
      lines.push(line);
      line = `${lead} ${word}`;
    }
  }
  return [...lines, line];
}

/** The lines that replace a long comment line and, where the paragraph continues, the next one. */
function wrapLine(line, following) {
  const block = oneLineBlock.exec(line)?.groups;
  if (block) {
    const { indent, text } = block;
    return { lines: [`${indent}/**`, ...wrapLine(`${indent} * ${text}`).lines, `${indent} */`] };
  }
  const comment = commentLine.exec(line)?.groups;
  if (!comment) return { lines: [line] };
  const { lead, gap, text } = comment;
  // The second line of a list item is indented to its text.
  const indent = gap.length + (/^(- |\d+\. )/.exec(text)?.[0].length ?? 0);
  const lines = wrapText(`${lead}${' '.repeat(indent)}`, `${lead} ${gap}`, text);
  const next = commentLine.exec(following ?? '')?.groups;
  const sameParagraph = next?.lead === lead && next.gap.length === indent && next.text !== '';
  if (lines.length === 1 || !sameParagraph || ownLine.test(next.text)) return { lines };
  return { lines: lines.slice(0, -1), next: `${lines.at(-1)} ${next.text}` };
}

/** The text with its long comment lines wrapped. Wrapping it again changes nothing. */
export function wrapComments(text) {
  const source = text.split('\n');
  const done = [];
  for (let index = 0; index < source.length; index += 1) {
    const line = source[index];
    if (line.length <= columnsMax || /https?:\/\//.test(line)) {
      done.push(line);
      continue;
    }
    const wrapped = wrapLine(line, source[index + 1]);
    done.push(...wrapped.lines);
    if (wrapped.next) source[index + 1] = wrapped.next;
  }
  return done.join('\n');
}
