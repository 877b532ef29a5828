/** Syntax colours: code as parts with the kind of each, by the grammars of highlight.js. */
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';

const lowlight = createLowlight({
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});

/** Text, or parts of one kind, such as `hljs-keyword`. */
export type Part = string | { readonly kind: string; readonly parts: readonly Part[] };

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

/** Undefined for an unknown language. */
export const coloured = (language: string, text: string): readonly Part[] | undefined =>
  lowlight.registered(language)
    ? lowlight.highlight(language, text).children.map(partOf)
    : undefined;

const partOf = (node: Node): Part => {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return '';
  const { className } = node.properties;
  const kind = Array.isArray(className) ? className.join(' ') : '';
  return { kind, parts: node.children.map(partOf) };
};
