/** The Process agent's saga, with the Data, Verifier and Notifier agents, on a real system. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contentHashOf, type DocumentRow, DOCUMENTS_INDEX } from '../../protocols/document.ts';
import { type NotificationRow, NOTIFICATIONS_INDEX } from '../../protocols/notification.ts';
import { type Evidence, EVIDENCE_INDEX } from '../../protocols/task.ts';
import { eventually } from '../runtime/eventually.ts';
import { Stage, TENANT } from '../actors/process/stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await new Stage().open();
});
afterEach(() => stage.close());

const PUBLISH = 'process.publish_document';
const order = { document_id: 'd1', content: 'hello', notify: { to: 'ada' } };
const documentRow = () => stage.system.index.get<DocumentRow>(DOCUMENTS_INDEX, TENANT, 'd1');

describe('process.publish_document', () => {
  it('writes, verifies, notifies and verifies again, and keeps the evidence of both steps', async () => {
    const view = await stage.run(PUBLISH, order, 'k1');
    expect(view).toMatchObject({ state: 'SUCCEEDED' });
    expect(view.result).toMatchObject({
      process_id: view.task_id,
      result: { document_id: 'd1', version: 1, content_hash: contentHashOf('hello') },
      steps: [
        { name: 'update', state: 'done', evidence: { verified: true, source_kind: 'document' } },
        {
          name: 'notify',
          state: 'done',
          evidence: { verified: true, source_kind: 'notification' },
        },
      ],
    });
    await eventually(() => {
      expect(documentRow()).toMatchObject({ version: 1, content: 'hello' });
      expect(stage.process(view.task_id)).toMatchObject({ name: PUBLISH, state: 'succeeded' });
    });
    await eventually(() => {
      const evidence = stage.system.index.list<Evidence>(EVIDENCE_INDEX, TENANT, {
        prefix: `${view.task_id}|`,
      });
      expect(evidence.map(({ value }) => value.job_id)).toEqual([view.task_id, view.task_id]);
    });
    const sent = stage.system.index.list<NotificationRow>(NOTIFICATIONS_INDEX, TENANT);
    expect(sent.map(({ value }) => [value.to, value.text])).toEqual([['ada', 'd1 was published']]);
  });

  it('changes nothing on a second request with the same key', async () => {
    const [first, second] = await Promise.all([
      stage.run(PUBLISH, order, 'k1'),
      stage.run(PUBLISH, order, 'k1'),
    ]);
    expect(second).toEqual(first);
    await eventually(() => expect(documentRow()?.version).toBe(1));
  });

  it('restores the document when the recipient cannot be notified, and reports it', async () => {
    const before = await stage.run(PUBLISH, order, 'k1');
    expect(before.state).toBe('SUCCEEDED');
    const server = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const changed = { ...order, content: 'changed', notify: { to: 'ada', url } };
    const view = await stage.run(PUBLISH, changed, 'k2');
    await new Promise((resolve) => server.close(resolve));
    expect(view).toMatchObject({
      state: 'COMPENSATED',
      outcome: 'FAILED',
      error: {
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/step notify \(act\) failed: .* status 404; undone: update/),
        details: { step: 'notify', undone: ['update'], left: [] },
      },
    });
    await eventually(() => expect(documentRow()).toMatchObject({ version: 3, content: 'hello' }));
    await eventually(() => expect(stage.process(view.task_id)?.state).toBe('compensated'));
    expect(stage.process(view.task_id)).toMatchObject({
      steps: [
        { name: 'update', state: 'undone', undo_evidence: { verified: true } },
        { name: 'notify', state: 'failed' },
      ],
    });
  });

  it('removes a document that did not exist before', async () => {
    const view = await stage.run(
      'agent_data.update_document',
      { document_id: 'd1', content: 'x' },
      'u',
    );
    expect(view.state).toBe('SUCCEEDED');
    const undo = { document_id: 'd1', update_task_id: view.task_id };
    expect(await stage.run('agent_data.restore_document', undo, 'r')).toMatchObject({
      state: 'SUCCEEDED',
      result: { version: 2, content_hash: null, restored: true },
    });
    const read = await stage.run('agent_data.read_document', { document_id: 'd1' }, 'read');
    expect(read).toMatchObject({ state: 'FAILED', error: { code: 'NOT_FOUND' } });
  });
});

describe('the Verifier agent', () => {
  it('hashes the content itself, and reports what it found instead', async () => {
    await stage.run('agent_data.update_document', { document_id: 'd1', content: 'x' }, 'u');
    const claim = { job_id: 'j1', document_id: 'd1', version: 1, content_hash: contentHashOf('y') };
    expect(await stage.run('verifier.verify_document', claim, 'v1')).toMatchObject({
      state: 'SUCCEEDED',
      result: { verified: false, job_id: 'j1', detail: expect.stringContaining('its content is') },
    });
    const right = { ...claim, content_hash: contentHashOf('x') };
    expect(await stage.run('verifier.verify_document', right, 'v2')).toMatchObject({
      result: { verified: true, artifact_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  it('finds a version that has been overwritten since, while it is stored', async () => {
    const write = (content: string) =>
      stage.run('agent_data.update_document', { document_id: 'd1', content }, `u${content}`);
    const verified = async (version: number, content: string) => {
      const content_hash = contentHashOf(content);
      const claim = { job_id: 'j1', document_id: 'd1', version, content_hash };
      const key = `v${version}${content}${written}`;
      const { result } = await stage.run('verifier.verify_document', claim, key);
      return (result as { verified: boolean }).verified;
    };
    let written = 0;
    for (const content of ['a', 'b', 'c']) {
      await write(content);
      written++;
    }
    expect([await verified(1, 'a'), await verified(2, 'b'), await verified(3, 'c')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([await verified(1, 'b'), await verified(4, 'c')]).toEqual([false, false]);
    for (; written < 12; written++) await write(`more ${written}`);
    expect([await verified(1, 'a'), await verified(2, 'b')]).toEqual([false, true]);
  });
});

describe('two processes on one document', () => {
  it('need an operator when one cannot be compensated without losing the other’s content', async () => {
    const [first, second] = await Promise.all(
      ['one', 'two'].map((content) =>
        stage.run(PUBLISH, { ...order, content, notify: { to: 'ada' } }, content),
      ),
    );
    expect([first!.state, second!.state]).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    const mine = await stage.run(
      'agent_data.update_document',
      { document_id: 'd1', content: 'x' },
      'u',
    );
    const theirs = { document_id: 'd1', content: 'y' };
    await stage.run('agent_data.update_document', theirs, 'w');
    const undo = { document_id: 'd1', update_task_id: mine.task_id };
    expect(await stage.run('agent_data.restore_document', undo, 'r')).toMatchObject({
      state: 'FAILED',
      error: { code: 'CONFLICT', message: expect.stringContaining('to restore would lose it') },
    });
    await eventually(() => expect(documentRow()).toMatchObject({ version: 4, content: 'y' }));
  });
});
