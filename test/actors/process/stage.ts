/**
 * Processes with the shipped actors and a catalog of the test, on the backbone of the test file: an
 * embedded store, or a cluster.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalize } from 'json-canonicalize';
import { factoryActions, factoryProcesses } from '../../../sample-agents/factory.ts';
import { shippedActors } from '../../../actors/index.ts';
import { ProcessCatalog } from '../../../actors/process/catalog.ts';
import { actionOf, type ProcessDefinition } from '../../../actors/process/define.ts';
import type { SagaServices } from '../../../actors/process/plan.ts';
import type { NotifierServices } from '../../../actors/notification/webhook.ts';
import type { ActionDefinition } from '../../../actors/task/action.ts';
import { ActionCatalog, termsOf } from '../../../actors/task/catalog.ts';
import type { TaskServices } from '../../../actors/task/services.ts';
import { approvalAddress, type ApprovalRow } from '../../../protocols/approval.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { type ProcessRow, PROCESSES_INDEX } from '../../../protocols/process.ts';
import {
  payloadHashOf,
  subjectOf,
  taskAddress,
  taskIdOf,
  type TaskRow,
  TASKS_INDEX,
  type TaskSubmit,
  type TaskView,
} from '../../../protocols/task.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { chosenBackbone } from '../../runtime/system/backbone.ts';
import { type AskAnswer, createSystem, openEmbedded, type System } from '../../../runtime/index.ts';

export const TENANT = 'default';
const ADA = { sub: 'ada', roles: ['agent'] };

/** The result of an ask; throws when it was refused. */
const resultOf = <T>(answer: AskAnswer): T => {
  if (answer.kind === 'answered') return answer.result as T;
  throw new Error(answer.kind === 'refused' ? JSON.stringify(answer.error) : 'no answer in time');
};

export class Stage {
  readonly path = mkdtempSync(join(tmpdir(), 'troupe-process-'));
  readonly #catalog: ActionCatalog;
  readonly #all: readonly ProcessDefinition[];
  #processes: ProcessCatalog;
  system!: System;
  #stop: () => Promise<void> = () => Promise.resolve();

  constructor(
    actions: readonly ActionDefinition[] = [],
    processes: readonly ProcessDefinition[] = [],
  ) {
    this.#catalog = new ActionCatalog([
      ...factoryActions(),
      ...actions,
      ...processes.map(actionOf),
    ]);
    this.#all = [...factoryProcesses(), ...processes];
    this.#processes = new ProcessCatalog(this.#all, this.#catalog);
  }

  async open(): Promise<this> {
    const services: TaskServices & SagaServices & NotifierServices = {
      actions: this.#catalog,
      processes: this.#processes,
      notifier: { allowPrivate: true },
      artifacts: await openFolderArtifacts({
        path: join(this.path, 'artifacts'),
        publicUrl: () => 'http://127.0.0.1:1',
        mimeTypes: ['application/json'],
      }),
      open: (envelope) => Promise.resolve(envelope),
      seal: () => Promise.reject(new Error('nothing here is sealed')),
      askAgent: () => Promise.reject(new Error('there are no agents outside')),
      count: () => {},
    };
    const options = { actors: shippedActors(), services, shards: 2 };
    const backbone = chosenBackbone();
    if (backbone) {
      const running = await backbone.start(this.path, options);
      this.system = running.system;
      this.#stop = () => running.stop();
    } else {
      const ports = await openEmbedded({ path: join(this.path, 'store'), durability: 'process' });
      this.system = await createSystem({ ...ports, ...options });
      this.#stop = () => this.system.stop();
    }
    return this;
  }

  /** @param processes that its workers have from now on; default all */
  async restart(processes?: readonly ProcessDefinition[]): Promise<void> {
    await this.#stop();
    const known = processes ?? this.#all;
    this.#processes = new ProcessCatalog(known, this.#catalog);
    await this.open();
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.path, { recursive: true, force: true });
  }

  #submit(action: string, payload: Record<string, unknown>, key: string): [string, TaskSubmit] {
    const definition = this.#catalog.find(action, '1.0.0')!;
    const envelope: Envelope = {
      version: '1.0',
      request_id: '00000000-0000-4000-8000-000000000001',
      correlation_id: '00000000-0000-4000-8000-000000000001',
      causation_id: null,
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      tenant_id: TENANT,
      principal: ADA,
      timestamp: new Date().toISOString(),
      ttl_sec: 600,
      idempotency_key: key,
      seq: 1,
      action,
      action_version: '1.0.0',
      payload: { schema_version: '1.0', ...payload },
    };
    const subject = subjectOf(envelope);
    const taskId = taskIdOf({ tenant: TENANT, action, subject, key });
    const submit: TaskSubmit = {
      type: 'task.submit',
      envelope,
      payloadHash: payloadHashOf(canonicalize(envelope.payload)),
      terms: termsOf(definition, envelope, taskId),
      transport: 'http',
      answer: 'ack',
    };
    return [taskId, submit];
  }

  /** Starts a process and returns the id of its task. */
  async start(action: string, payload: Record<string, unknown>, key: string): Promise<string> {
    const [taskId, submit] = this.#submit(action, payload, key);
    const options = { principal: ADA, repeatable: true, timeoutMs: 20_000 } as const;
    resultOf(await this.system.ask(taskAddress(TENANT, taskId), submit, options));
    return taskId;
  }

  /** Starts a process and waits for its end. */
  async run(action: string, payload: Record<string, unknown>, key: string): Promise<TaskView> {
    const [taskId, submit] = this.#submit(action, payload, key);
    return resultOf<TaskView>(
      await this.system.ask(
        taskAddress(TENANT, taskId),
        { ...submit, answer: 'done' },
        { principal: ADA, repeatable: true, timeoutMs: 110_000 },
      ),
    );
  }

  cancel(taskId: string): Promise<AskAnswer> {
    const event = { type: 'task.cancel', reason: 'changed my mind' };
    const options = { principal: ADA, timeoutMs: 20_000 };
    return this.system.ask(taskAddress(TENANT, taskId), event, options);
  }

  decide(id: string, decision: string, roles = ['operator']): Promise<AskAnswer> {
    const event = { type: 'approval.answer', decision, why: 'because' };
    const options = { principal: { sub: 'grace', roles }, timeoutMs: 20_000 };
    return this.system.ask(approvalAddress(TENANT, id), event, options);
  }

  view(taskId: string): TaskView | undefined {
    return this.system.index.get<TaskRow>(TASKS_INDEX, TENANT, taskId)?.view;
  }
  process(taskId: string): ProcessRow | undefined {
    return this.system.index.get<ProcessRow>(PROCESSES_INDEX, TENANT, taskId);
  }
  approval(id: string): ApprovalRow | undefined {
    return this.system.index.get<ApprovalRow>('approvals', TENANT, id);
  }
}
