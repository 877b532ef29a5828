/**
 * Readers of public benchmarks of retrieval, from a folder or file of the user: BEIR
 * (`corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`) and LongMemEval (a JSON list of questions,
 * each with the sessions to search).
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type Question = {
  readonly id: string;
  readonly text: string;
  /** of the documents that answer it: by id, at least 1 */
  readonly grades: ReadonlyMap<string, number>;
};

/** Documents, and the questions that are asked about them. */
export type Collection = {
  readonly documents: readonly { readonly id: string; readonly text: string }[];
  readonly questions: readonly Question[];
};

export type Dataset = {
  readonly format: 'BEIR' | 'LongMemEval';
  readonly collections: readonly Collection[];
  /** questions without a document that answers them; they are left out */
  readonly unanswerable: number;
};

/** @throws Error that says which file or field is missing */
export function readDataset(path: string): Dataset {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  if (statSync(path).isDirectory()) return readBeir(path);
  if (path.endsWith('.json')) return readLongMemEval(path);
  throw new Error(`${path} is neither a folder of BEIR nor a JSON file of LongMemEval`);
}

type BeirLine = { readonly _id?: unknown; readonly title?: unknown; readonly text?: unknown };

function readBeir(folder: string): Dataset {
  const documents = linesOf<BeirLine>(folder, 'corpus.jsonl').map(({ _id, title = '', text }) => ({
    id: textOf(_id, 'corpus.jsonl', '_id'),
    text: [textOf(title, 'corpus.jsonl', 'title'), textOf(text, 'corpus.jsonl', 'text')]
      .filter((part) => part !== '')
      .join('\n'),
  }));
  const grades = gradesOf(folder);
  const all = linesOf<BeirLine>(folder, 'queries.jsonl').map(({ _id, text }) => ({
    id: textOf(_id, 'queries.jsonl', '_id'),
    text: textOf(text, 'queries.jsonl', 'text'),
  }));
  // Queries of other parts of the dataset have no grades here.
  const questions = all.flatMap((one) => {
    const own = grades.get(one.id);
    return own ? [{ ...one, grades: own }] : [];
  });
  return { format: 'BEIR', collections: [{ documents, questions }], unanswerable: 0 };
}

/** Lines `query-id<TAB>corpus-id<TAB>score`, after a heading. */
function gradesOf(folder: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const name = 'qrels/test.tsv';
  const grades = new Map<string, Map<string, number>>();
  for (const [at, line] of fileOf(folder, name).split(/\r?\n/).entries()) {
    if (at === 0 || line === '') continue;
    const [question, document, score] = line.split('\t');
    const grade = Number(score);
    if (question === undefined || document === undefined || !Number.isFinite(grade))
      throw new Error(`${name}:${at + 1} is not query-id, corpus-id and score`);
    if (grade < 1) continue;
    const own = grades.get(question) ?? new Map<string, number>();
    grades.set(question, own.set(document, grade));
  }
  return grades;
}

function linesOf<Line>(folder: string, name: string): readonly Line[] {
  return fileOf(folder, name)
    .split(/\r?\n/)
    .flatMap((line, at) => {
      if (line.trim() === '') return [];
      try {
        return [JSON.parse(line) as Line];
      } catch {
        throw new Error(`${name}:${at + 1} is not JSON`);
      }
    });
}

function fileOf(folder: string, name: string): string {
  const path = join(folder, name);
  if (!existsSync(path)) throw new Error(`${path} does not exist; a folder of BEIR has it`);
  return readFileSync(path, 'utf8');
}

type LongMemEvalQuestion = {
  readonly question_id?: unknown;
  readonly question?: unknown;
  readonly haystack_session_ids?: unknown;
  readonly haystack_dates?: unknown;
  readonly haystack_sessions?: unknown;
  readonly answer_session_ids?: unknown;
};

/** Each question has sessions of its own. Those that no session answers end with `_abs`. */
function readLongMemEval(path: string): Dataset {
  const all = JSON.parse(readFileSync(path, 'utf8')) as unknown;
  if (!Array.isArray(all)) throw new Error(`${path} is not a list of questions`);
  const collections = (all as LongMemEvalQuestion[]).map((one, at) => {
    const where = `${path}, question ${at + 1}`;
    const id = textOf(one.question_id, where, 'question_id');
    const ids = listOf(one.haystack_session_ids, where, 'haystack_session_ids');
    const dates = listOf(one.haystack_dates, where, 'haystack_dates');
    const sessions = listOf(one.haystack_sessions, where, 'haystack_sessions');
    const documents = sessions.map((turns, n) => ({
      id: textOf(ids[n], where, 'haystack_session_ids'),
      text: sessionText(
        textOf(dates[n], where, 'haystack_dates'),
        listOf(turns, where, 'haystack_sessions'),
        where,
      ),
    }));
    const answers = listOf(one.answer_session_ids, where, 'answer_session_ids') as string[];
    const text = textOf(one.question, where, 'question');
    const grades = new Map(id.endsWith('_abs') ? [] : answers.map((answer) => [answer, 1]));
    return { documents, questions: [{ id, text, grades }] };
  });
  const answerable = collections.filter(({ questions }) => questions[0]!.grades.size > 0);
  return {
    format: 'LongMemEval',
    collections: answerable,
    unanswerable: collections.length - answerable.length,
  };
}

type Turn = { readonly role?: unknown; readonly content?: unknown };

function sessionText(date: string, turns: readonly unknown[], where: string): string {
  const parts = (turns as Turn[]).map(({ role, content }) => {
    const heading = `## ${textOf(role, where, 'role')}`;
    return `${heading}\n\n${textOf(content, where, 'content')}`;
  });
  return [`# Session, ${date}`, ...parts].join('\n\n');
}

function textOf(value: unknown, where: string, field: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`${where} has no text ${field}`);
}

function listOf(value: unknown, where: string, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${where} has no list ${field}`);
}
