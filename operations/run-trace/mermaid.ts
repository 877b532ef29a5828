/**
 * A run trace as a Mermaid sequence diagram. Users and sessions are participants. The time that a
 * session spends on a run is an activation. Tool results and refusals are notes.
 *
 * Invariant: the diagram is valid, whatever the texts contain. Characters with a meaning in Mermaid
 * or HTML are written as entities, and every activation ends.
 */
import type { RunTrace, TraceParticipant, TraceStep } from '../../protocols/run-trace.ts';
import { firstWords } from './first-words.ts';
import { omissionLines } from './omissions.ts';
import { durationText } from './durations.ts';

/** Characters of one arrow or of one line of a note. */
const LABEL_CHARACTERS = 64;
/** Consecutive tools of one session in one note. */
const TOOLS_MAX = 4;

export function mermaidOf(trace: RunTrace): string {
  const drawing = new Drawing();
  for (const participant of trace.participants) drawing.participant(participant);
  for (const step of trace.steps) drawing.step(step);
  return drawing.end(trace);
}

class Drawing {
  readonly #lines: string[] = ['sequenceDiagram', '  autonumber'];
  /** sessions with an active run */
  readonly #active = new Set<string>();
  #tools: { readonly in: string; readonly lines: string[] } | undefined;

  participant({ id, kind, name, label, nodes }: TraceParticipant): void {
    const on = nodes.map((node) => ` @${node}`).join('');
    const called = label === undefined ? name : `${label} (${name})`;
    const word = kind === 'people' ? 'actor' : 'participant';
    this.#add(`${word} ${id} as ${escaped(called)}${escaped(on)}`);
  }

  step(step: TraceStep): void {
    if (step.kind !== 'tool' && step.kind !== 'model') this.#noteTools();
    switch (step.kind) {
      case 'message':
        return this.#arrow(step.from, '->>', step.to, messageText(step));
      case 'model':
        return this.#activate(step.in);
      case 'tool':
        return step.drawn ? undefined : this.#tool(step);
      case 'end':
        return this.#end(step);
      case 'result':
        return this.#arrow(step.from, '-->>', step.to, resultText(step));
      case 'report': {
        const how = step.joins ? ', in the active run' : '';
        return this.#note(step.in, [`reads ${counted(step.results)}${how}`]);
      }
      case 'refused':
        return this.#note(step.in, [`refused (${step.text}): ${step.why}`]);
    }
  }

  end(trace: RunTrace): string {
    this.#noteTools();
    for (const id of this.#active) this.#add(`deactivate ${id}`);
    const left = omissionLines(trace.left);
    const first = trace.participants[0];
    if (left.length > 0 && first) this.#note(first.id, left);
    return `${this.#lines.join('\n')}\n`;
  }

  #end(step: TraceStep & { kind: 'end' }): void {
    const { in: own, to, status, silent, announces, text } = step;
    if (status !== 'ok') {
      if (to === undefined) this.#note(own, [`${status}: ${text}`]);
      else this.#arrow(own, '--x', to, `${status}: ${text}`);
    } else if (silent) {
      this.#note(own, [text === '' ? 'says nothing' : text]);
    } else if (to !== undefined) {
      this.#arrow(own, '-->>', to, announces ? `announces: ${text}` : text);
    }
    if (this.#active.delete(own)) this.#add(`deactivate ${own}`);
  }

  #activate(id: string): void {
    if (this.#active.has(id)) return;
    this.#noteTools();
    this.#active.add(id);
    this.#add(`activate ${id}`);
  }

  #tool({ in: own, name, text, failed }: TraceStep & { kind: 'tool' }): void {
    if (this.#tools?.in !== own) this.#noteTools();
    this.#tools ??= { in: own, lines: [] };
    this.#tools.lines.push(failed ? `${name} failed: ${text}` : `${name}: ${text}`);
  }

  #noteTools(): void {
    if (!this.#tools) return;
    const { in: own, lines } = this.#tools;
    this.#tools = undefined;
    const more = lines.length - TOOLS_MAX;
    this.#note(own, more > 0 ? [...lines.slice(0, TOOLS_MAX), `and ${more} more`] : lines);
  }

  #arrow(from: string, arrow: string, to: string, text: string): void {
    this.#add(`${from}${arrow}${to}: ${label(text)}`);
  }

  #note(over: string, lines: readonly string[]): void {
    this.#add(`Note over ${over}: ${lines.map(label).join('<br/>')}`);
  }

  #add(line: string): void {
    this.#lines.push(`  ${line}`);
  }
}

const messageText = ({ origin, text, label: called }: TraceStep & { kind: 'message' }): string =>
  origin === 'task' ? `task${called === undefined ? '' : ` ${called}`}: ${text}` : text;

const resultText = (step: TraceStep & { kind: 'result' }): string => {
  const { outcome, text, tokens, durationMs } = step;
  const numbers = [
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(durationMs === undefined ? [] : [durationText(durationMs)]),
  ];
  const about = numbers.length > 0 ? ` (${numbers.join(', ')})` : '';
  return `${outcome}${about}: ${firstWords(text, LABEL_CHARACTERS - 24)}`;
};

const counted = (results: number): string => (results === 1 ? '1 result' : `${results} results`);

/** Never empty: an arrow requires a text. */
const label = (text: string): string => escaped(firstWords(text, LABEL_CHARACTERS)) || '…';

/**
 * Escapes what Mermaid interprets: `#` and `;` end a text, `%%{` is a directive, `$$` a formula,
 * `\n` a line break, `style` with a colon a style sheet, and a leading `wrap:` an instruction.
 */
const escaped = (text: string): string =>
  text
    .replaceAll(/[#;%$\\<>&`\p{Cc}]/gu, entityOf)
    .replaceAll(/s(?=tyle)|c(?=lassDef)|w(?=rap:)/g, entityOf);

const entityOf = (character: string): string => `#${character.codePointAt(0)};`;
