/** Tasks whose work a test performs by hand, in a real system with real files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { onTestFinished } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import {
  type ActionContext,
  type ActionOptions,
  defineAction,
  specOf,
} from '../../../actors/task/action.ts';
import { ActionCatalog, termsOf } from '../../../actors/task/catalog.ts';
import type { TaskServices } from '../../../actors/task/services.ts';
import { AGENTS_INDEX, type AgentRow } from '../../../protocols/action.ts';
import { defined } from '../../../protocols/defined.ts';
import type { Envelope, Payload } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { newSealingKey, type SealingPrivateJwk } from '../../../protocols/security/sealed.ts';
import { sealResult } from '../../../protocols/security/sealed-result.ts';
import type { ReplyRef } from '../../../protocols/statechart.ts';
import {
  sequenceAddress,
  taskAddress,
  taskIdOf,
  TASKS_INDEX,
  type TaskRow,
  type TaskSubmit,
  type TaskView,
} from '../../../protocols/task.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import type { AskAnswer, Clock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { puppetType } from '../../runtime/system/puppet.ts';
import { openWorld, puppet, type World } from '../../runtime/system/world.ts';
import { clerkType } from './clerk.ts';
import { envelopeOf } from './submits.ts';

export type Run = {
  readonly payload: Payload;
  readonly context: ActionContext;
  done(result?: unknown): void;
  failed(error: unknown): void;
};

/** Calls of work, each of which a test completes by hand. */
export class Calls {
  readonly all: Run[] = [];

  run = (payload: Payload, context: ActionContext): Promise<unknown> =>
    new Promise((done, failed) => {
      this.all.push({ payload, context, done, failed });
    });

  /** The nth call, from 1, as soon as it starts. */
  began(count: number): Promise<Run> {
    return eventually(() => {
      const run = this.all[count - 1];
      if (!run) throw new Error(`${this.all.length} began, not ${count}`);
      return run;
    });
  }
}

export class Desk {
  readonly work = new Calls();
  readonly undo = new Calls();
  /** envelopes that external agents received, with the agent's id */
  readonly outside: { agent: string; url: string; envelope: Envelope }[] = [];
  readonly counted: string[] = [];
  /** the key to which results of sensitive work are sealed */
  sealingKey!: SealingPrivateJwk;
  /** dead letters that the system published */
  readonly given: string[] = [];
  world!: World;
  #definition!: ReturnType<typeof defineAction>;
  #services!: TaskServices;

  /** A task of the only action; not yet submitted. */
  job(change: Partial<Envelope> = {}): Job {
    const envelope = envelopeOf({
      timestamp: new Date().toISOString(),
      ttl_sec: 3_600,
      ...change,
    });
    return new Job(this, envelope, (taskId) => termsOf(this.#definition, envelope, taskId));
  }

  /** Adds external agents to the registry's rows; all of them serve the only action. */
  async register(agents: Readonly<Record<string, AgentRow['status']>>): Promise<void> {
    for (const [agent_id, status] of Object.entries(agents)) {
      const row: AgentRow = {
        agent_id,
        version: '1.0.0',
        status,
        last_seen_at: new Date().toISOString(),
        registered_at: new Date().toISOString(),
        envelope_versions: ['1.0'],
        url: `http://127.0.0.1/${agent_id}`,
        actions: [{ ...specOf(this.#definition), action_version: '1.2.0' }],
      };
      const projects = { index: AGENTS_INDEX, key: agent_id, value: row };
      await this.world.ask(puppet('registrar'), { type: 'do', projects });
    }
  }

  /** Removes an external agent from the registry. */
  async leave(agentId: string): Promise<void> {
    const projects = { index: AGENTS_INDEX, key: agentId, value: null };
    await this.world.ask(puppet('registrar'), { type: 'do', projects });
  }

  async open(options: Partial<ActionOptions>, clock?: Clock): Promise<void> {
    const path = await mkdtemp(join(tmpdir(), 'troupe-desk-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    this.sealingKey = await newSealingKey();
    this.#definition = defineAction({
      action: 'demo.do_thing',
      version: '1.0.0',
      description: 'does what the test says',
      schemas: { '1.0': Type.Object({}) },
      agent: 'demo',
      backoffMs: { first: 5, max: 20 },
      ...(options.actor ? {} : { perform: this.work.run }),
      ...options,
    });
    this.#services = {
      actions: new ActionCatalog([this.#definition]),
      artifacts: await openFolderArtifacts({
        path,
        publicUrl: () => 'http://127.0.0.1',
        mimeTypes: ['application/json'],
      }),
      open: (envelope) => Promise.resolve(envelope),
      seal: (value, belongsTo) => sealResult(value, this.sealingKey, belongsTo),
      askAgent: ({ agent_id: agent, url }, envelope, signal) => {
        this.outside.push({ agent, url, envelope });
        if (agent === 'deaf' && envelope.action.endsWith('.cancel'))
          return Promise.reject(new TroupeError('FORBIDDEN', 'it does not listen to us any more'));
        if (['silent', 'deaf'].includes(agent) && !envelope.action.endsWith('.cancel'))
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          });
        return Promise.resolve({ result: `${agent} did it` });
      },
      count: (what, { errorCode }) => void this.counted.push(`${what} ${errorCode}`),
    };
    const ours = shippedActors().filter(({ type }) => type === 'task' || type === 'sequence');
    const actors = [...ours, clerkType(), puppetType()];
    this.world = await openWorld({
      actors,
      services: this.#services,
      ...defined({ clock }),
      onDeadLetter: ({ reason, error }) => void this.given.push(`${reason} ${error.code}`),
    });
  }
}

/** One envelope and its task. */
export class Job {
  readonly #desk: Desk;
  readonly envelope: Envelope;
  readonly id: string;
  readonly terms: () => TaskSubmit['terms'];

  constructor(desk: Desk, envelope: Envelope, terms: (taskId: string) => TaskSubmit['terms']) {
    this.#desk = desk;
    this.envelope = envelope;
    this.id = taskIdOf({
      tenant: 't',
      action: envelope.action,
      subject: String(envelope.payload['subject']),
      key: envelope.idempotency_key,
    });
    this.terms = () => terms(this.id);
  }

  get address() {
    return taskAddress('t', this.id);
  }

  submit(change: Partial<TaskSubmit> & { replyTo?: ReplyRef } = {}): Promise<AskAnswer> {
    const { envelope } = this;
    const scope = { sender: 'ada', subject: String(envelope.payload['subject']), major: 1 };
    const submit: TaskSubmit = {
      type: 'task.submit',
      envelope,
      payloadHash: JSON.stringify(envelope.payload),
      terms: this.terms(),
      transport: 'http',
      answer: 'ack',
      ...change,
    };
    return this.#desk.world.ask(
      sequenceAddress('t', scope),
      { type: 'sequence.pass', seq: envelope.seq, to: this.address, submit },
      { repeatable: true },
    );
  }

  /** @throws when it is refused */
  async view(change: Partial<TaskSubmit> = {}): Promise<TaskView> {
    return viewIn(await this.submit(change));
  }

  ask(event: { type: string; [field: string]: unknown }): Promise<AskAnswer> {
    return this.#desk.world.ask(this.address, event, { repeatable: true });
  }

  cancel(): Promise<AskAnswer> {
    return this.ask({ type: 'task.cancel', reason: 'changed my mind' });
  }

  decide(decision: string, result?: unknown): Promise<AskAnswer> {
    return this.ask({ type: 'task.decide', decision, why: 'I looked', result });
  }

  row(id = this.id): TaskRow | undefined {
    return this.#desk.world.system.index.get<TaskRow>(TASKS_INDEX, 't', id);
  }

  /** The committed view, as soon as it contains this. */
  is(wanted: Partial<TaskView>, id = this.id): Promise<TaskView> {
    return eventually(() => {
      const view = this.row(id)?.view;
      for (const [field, value] of Object.entries(wanted)) {
        const found = view?.[field as keyof TaskView];
        if (found !== value) throw new Error(`${field} is ${String(found)}, not ${String(value)}`);
      }
      return view!;
    });
  }

  /** Resolves as soon as the task waits for this. */
  waitsFor(what: string): Promise<TaskView> {
    return eventually(() => {
      const view = this.row()?.view;
      if (view?.waiting?.for !== what) throw new Error(`it waits for ${view?.waiting?.for}`);
      return view;
    });
  }
}

/** @throws when it is not a refusal */
export function viewIn(answer: AskAnswer): TaskView {
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer));
  return answer.result as TaskView;
}

/** @throws when it was answered */
export function errorIn(answer: AskAnswer) {
  if (answer.kind !== 'refused') throw new Error(JSON.stringify(answer));
  return answer.error;
}

/** @param optionsOf properties of the action, beside the work that the test performs */
export async function openDesk(
  optionsOf: (desk: Desk) => Partial<ActionOptions> = () => ({}),
  clock?: Clock,
): Promise<Desk> {
  const desk = new Desk();
  await desk.open(optionsOf(desk), clock);
  return desk;
}
