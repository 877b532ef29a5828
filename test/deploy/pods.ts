/**
 * Runs the container of a manifest as a process, as the kubelet would: its arguments, environment,
 * secrets, probes, preStop command, signal and grace period. What a machine has only once is
 * replaced: folders, ports and host names.
 */
// Manifests of several kinds are read by path.
// oxlint-disable no-explicit-any
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strict as assert } from 'node:assert';
import { onTestFinished } from 'vitest';
import type { Manifest } from './kubernetes-expand.ts';

export type PodOptions = {
  /** the program and arguments of the image's entry point */
  readonly entrypoint: readonly string[];
  readonly name: string;
  /** of this pod: folders of its volumes, and its files of configuration */
  readonly folder: string;
  /** files of mounted configuration maps, by name */
  readonly files: Readonly<Record<string, string>>;
  /** keys of the Secret */
  readonly secrets: Readonly<Record<string, string>>;
  /** text of the manifest and of its files, and what it is here */
  readonly replace: readonly (readonly [string, string])[];
  /** port here of the port with this name */
  readonly ports: Readonly<Record<string, number>>;
};

export class Pod {
  readonly child: ChildProcess;
  readonly #container: any;
  readonly #graceSeconds: number;
  readonly #options: PodOptions;
  readonly #ended: Promise<unknown>;
  readonly #watch = new AbortController();
  output = '';
  /** the longest sequence of failed liveness probes */
  livenessFailures = 0;

  constructor(workload: Manifest, options: PodOptions) {
    const { spec } = replaced(workload, options)['spec'].template;
    this.#container = spec.containers[0];
    this.#graceSeconds = spec.terminationGracePeriodSeconds;
    this.#options = options;
    writeFiles(options);
    const env = environmentOf(this.#container, options);
    const args = (this.#container.args as string[]).map((text) =>
      text.replaceAll(/\$\((\w+)\)/g, (all, name: string) => env[name] ?? all),
    );
    const [program, ...before] = options.entrypoint;
    this.child = spawn(program!, [...before, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout!, this.child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.#ended = once(this.child, 'exit');
    onTestFinished(() => {
      this.#watch.abort();
      this.child.kill('SIGKILL');
    });
  }

  get port(): number {
    return Object.values(this.#options.ports)[0]!;
  }

  /** Runs the startup probe until it passes, then the others. @throws Error at its limit */
  async start(): Promise<void> {
    const { periodSeconds, failureThreshold } = this.#container.startupProbe;
    const deadline = performance.now() + periodSeconds * failureThreshold * 1_000;
    await this.#until('startupProbe', deadline);
    void this.#watchLiveness();
    await this.#until('readinessProbe', deadline);
  }

  async #until(probe: string, deadline: number): Promise<void> {
    while (!(await this.probe(probe))) {
      if (this.child.exitCode !== null || performance.now() > deadline)
        throw new Error(`${this.#options.name}: ${probe} failed\n${this.output}`);
      await pause(100);
    }
  }

  async #watchLiveness(): Promise<void> {
    let failures = 0;
    while (!this.#watch.signal.aborted) {
      failures = (await this.probe('livenessProbe')) ? 0 : failures + 1;
      if (this.#watch.signal.aborted) return;
      this.livenessFailures = Math.max(this.livenessFailures, failures);
      await pause(500);
    }
  }

  async probe(name: string): Promise<boolean> {
    const { httpGet, timeoutSeconds } = this.#container[name];
    const port = this.#options.ports[httpGet.port as string];
    assert(port !== undefined, `there is no port ${httpGet.port}`);
    try {
      const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
      const response = await fetch(`http://127.0.0.1:${port}${httpGet.path}`, { signal });
      await response.arrayBuffer();
      return response.status >= 200 && response.status < 400;
    } catch {
      return false;
    }
  }

  /** The end of a pod. Returns whether it ended itself, within its grace period, and its code. */
  async terminate(): Promise<{ readonly code: number | null; readonly killed: boolean }> {
    this.#watch.abort();
    let killed = false;
    const timer = setTimeout(() => {
      killed = true;
      this.child.kill('SIGKILL');
    }, this.#graceSeconds * 1_000);
    const command = this.#container.lifecycle?.preStop.exec.command as string[] | undefined;
    if (command !== undefined) await this.#execute(command);
    this.child.kill('SIGTERM');
    await this.#ended;
    clearTimeout(timer);
    return { code: this.child.exitCode, killed };
  }

  /** @throws Error when the command cannot run or fails */
  async #execute([program, ...args]: string[]): Promise<void> {
    const path = program === 'nats-server' ? this.#options.entrypoint[0]! : program!;
    const child = spawn(path, args, { stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number];
    assert.equal(code, 0, `${program} ${args.join(' ')}`);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function replaced(workload: Manifest, { replace }: PodOptions): Manifest {
  let text = JSON.stringify(workload);
  for (const [from, to] of replace) text = text.replaceAll(from, to);
  return JSON.parse(text) as Manifest;
}

function writeFiles({ folder, files, replace }: PodOptions): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, contents] of Object.entries(files)) {
    let text = contents;
    for (const [from, to] of replace) text = text.replaceAll(from, to);
    writeFileSync(join(folder, name), text);
  }
}

/** Only what the manifest says, and what the image sets: nothing of this machine. */
function environmentOf(
  { env }: { env: readonly any[] },
  { name, secrets }: PodOptions,
): Record<string, string> {
  const variables = env.map((one): [string, string] => {
    if (one.value !== undefined) return [one.name, one.value];
    if (one.valueFrom.fieldRef?.fieldPath === 'metadata.name') return [one.name, name];
    const value = secrets[one.valueFrom.secretKeyRef?.key];
    assert(value !== undefined, `the Secret has no ${JSON.stringify(one.valueFrom)}`);
    return [one.name, value];
  });
  return { PATH: process.env['PATH']!, NODE_ENV: 'production', ...Object.fromEntries(variables) };
}
