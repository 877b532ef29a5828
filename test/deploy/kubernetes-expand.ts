/** Expands templates of charts that hold nothing but `{{ .Values.PATH }}`, as Helm does. */
// Manifests of several kinds are read by path.
// oxlint-disable no-explicit-any
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../tools/install.mjs';

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // Manifests of several kinds, read by path in tests.
  readonly [key: string]: any;
};

export const helmFolder = join(root, 'deploy', 'helm');

type Tree = { readonly [key: string]: Tree | string | number | boolean };

/** @throws Error for any other expression, and for a value that the chart does not have */
export function expand(template: string, values: Tree): string {
  return template.replaceAll(/\{\{(.*?)\}\}/g, (all, expression: string) => {
    const [, path] = /^ \.Values\.([A-Za-z0-9.]+) $/.exec(expression) ?? [];
    if (path === undefined) throw new Error(`${all} is not a value`);
    let at: Tree | string | number | boolean | undefined = values;
    for (const key of path.split('.')) at = (at as Tree | undefined)?.[key];
    if (at === undefined || typeof at === 'object') throw new Error(`there is no value ${path}`);
    return String(at);
  });
}

/** The manifests of a chart with these values, else with its own. */
export function chartManifests(chart: string, values = defaultsOf(chart)): Manifest[] {
  const folder = join(helmFolder, chart, 'templates');
  return readdirSync(folder).map(
    (file) => parse(expand(readFileSync(join(folder, file), 'utf8'), values)) as Manifest,
  );
}

export const defaultsOf = (chart: string): Tree =>
  parse(readFileSync(join(helmFolder, chart, 'values.yaml'), 'utf8')) as Tree;

export const plainManifests = (file: string): Manifest[] =>
  parseAllDocuments(readFileSync(join(root, 'deploy', 'kubernetes', file), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  );
