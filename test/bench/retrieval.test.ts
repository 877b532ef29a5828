/** Public benchmarks of retrieval, as their files are. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDataset } from '../../bench/retrieval/datasets.ts';
import { measureRetrieval, retrievalText } from '../../bench/retrieval/retrieval.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { testModel } from '../memory/vectors/model.ts';

const lines = (...all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

function beir(qrels = 'q1\td1\t2\nq1\td2\t1\nq2\td3\t1\nq3\td4\t0\n'): string {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'qrels'));
  writeFileSync(
    join(folder, 'corpus.jsonl'),
    lines(
      { _id: 'd1', title: 'Invoices', text: 'An invoice is paid within a month.' },
      { _id: 'd2', title: '', text: 'The invoice of March.', metadata: {} },
      { _id: 'd3', text: 'Con mèo ngủ trên ghế.' },
      { _id: 'd4', title: 'Bread', text: 'Flour, water and salt.' },
    ),
  );
  writeFileSync(
    join(folder, 'queries.jsonl'),
    lines(
      { _id: 'q1', text: 'when is an invoice paid' },
      { _id: 'q2', text: 'kitten' },
      { _id: 'q3', text: 'of another part' },
    ),
  );
  writeFileSync(join(folder, 'qrels', 'test.tsv'), `query-id\tcorpus-id\tscore\n${qrels}`);
  return folder;
}

test('a folder of BEIR: by words the first question is answered, by meaning both', async () => {
  const path = beir();
  const words = await measureRetrieval({ path });
  expect(words).toMatchObject({ questions: 2, documents: 4, recallAt5: 0.5, mrrAt10: 0.5 });
  expect(words).toMatchObject({ ndcgAt10: 0.5, tokens: 0 });
  const meaning = await measureRetrieval({ path, embedder: testModel() });
  expect(meaning).toMatchObject({ recallAt5: 1, mrrAt10: 1, tokens: 6 });
  expect(await measureRetrieval({ path, questionsMax: 1 })).toMatchObject({ recallAt10: 1 });
  expect(retrievalText(words)).toContain('2 questions, 4 documents\nrecall@5   0.500\n');
});

test('a file of LongMemEval: each question has its own sessions', async () => {
  const path = join(scratchFolder(), 'longmemeval_s.json');
  const turn = (role: string, content: string) => ({ role, content });
  const one = {
    question_id: 'a1',
    question_type: 'single-session-user',
    question: 'What is the name of my cat?',
    answer: 'Mochi',
    question_date: '2023/05/30 (Tue) 23:40',
    haystack_dates: ['2023/05/20 (Sat) 02:21', '2023/05/21 (Sun) 10:00'],
    haystack_session_ids: ['s1', 's2'],
    haystack_sessions: [
      [turn('user', 'How do I bake bread?'), turn('assistant', 'With flour.')],
      [turn('user', 'My cat Mochi is ill.'), turn('assistant', 'Call a doctor.')],
    ],
    answer_session_ids: ['s2'],
  };
  const none = { ...one, question_id: 'a2_abs', question: 'What is the name of my dog?' };
  writeFileSync(path, JSON.stringify([one, none]));
  expect(await measureRetrieval({ path })).toMatchObject({
    questions: 1,
    unanswerable: 1,
    documents: 2,
    recallAt5: 1,
    mrrAt10: 1,
  });
});

test('files that are not of a benchmark are named', () => {
  const folder = scratchFolder();
  expect(() => readDataset(folder)).toThrow(/corpus\.jsonl does not exist/);
  expect(() => readDataset(join(folder, 'none'))).toThrow(/does not exist/);
  const path = join(folder, 'list.json');
  writeFileSync(path, '[{"question_id": "a"}]');
  expect(() => readDataset(path)).toThrow('question 1 has no list haystack_session_ids');
  writeFileSync(path, '{}');
  expect(() => readDataset(path)).toThrow(/is not a list of questions/);
  expect(() => readDataset(beir('q1\td1\tmany\n'))).toThrow('qrels/test.tsv:2');
  const broken = beir();
  writeFileSync(join(broken, 'queries.jsonl'), '{"_id": "q1"}\n{');
  expect(() => readDataset(broken)).toThrow('queries.jsonl:2 is not JSON');
});
