/**
 * simulate: one run of a whole cluster by seed. Clients work while faults are injected. Then the
 * faults stop, and the cluster must become idle with every message accounted for. Finally every
 * process is killed and restarts from the stored data.
 */
import type { Address } from '../../protocols/address.ts';
import { Cluster } from './cluster.ts';
import { closingFaults, stateFaults, suspended, undecided, unrest } from './closing.ts';
import { type Plan, planOf } from './plan.ts';
import { Random } from '../../library/simulation/random.ts';
import { runClient, Workload } from './workload.ts';

export type Verdict = {
  readonly seed: number;
  /** the plan of the run in a few words */
  readonly what: string;
  readonly faults: readonly string[];
  /** the last events, in order */
  readonly trace: readonly string[];
  readonly turns: number;
  readonly steps: number;
  readonly requests: number;
};

const FAULT_PHASE_MS = 20_000;
const REST_MS = 240_000;
/** Number of clock calls after which a run counts as endless. */
const STEPS_MAX = 2_000_000;

export async function simulate(seed: number): Promise<Verdict> {
  const random = new Random(seed);
  const plan = planOf(random.fork('plan'));
  const cluster = new Cluster({ random, ...plan.cluster });
  const { clock, auditor } = cluster;
  const failed = () => auditor.faults.length > 0 || clock.steps > STEPS_MAX;
  cluster.start(plan.faults);
  const clientsDone = startClients(cluster, random, plan);
  startFaults(cluster, random.fork('trouble'), plan.troubleEveryMs);
  await clock.run(FAULT_PHASE_MS, failed);
  cluster.calm();
  await rest(cluster, clientsDone, failed);
  if (auditor.faults.length === 0) auditor.ledger.faults.push(...closingFaults(auditor));
  if (auditor.faults.length === 0) await comeBack(cluster, failed);
  cluster.stop();
  const { faults, requests, ledger } = auditor;
  const counts = { turns: ledger.turns, steps: clock.steps, requests: requests.size };
  // its text is made on request: few runs fail
  return {
    seed,
    what: plan.what,
    faults,
    get trace() {
      return cluster.trace;
    },
    ...counts,
  };
}

/**
 * Whether every client has received a final answer to each of its requests, where one is possible.
 */
function startClients(cluster: Cluster, random: Random, { workload: plan }: Plan): () => boolean {
  const { clock, auditor } = cluster;
  const workload = new Workload(random.fork('workload'), plan);
  let working = plan.clients;
  for (let i = 0; i < plan.clients; i++) {
    const client = random.fork(`client ${i}`);
    void runClient({
      name: `c${i}`,
      random: client,
      clock,
      workload,
      auditor,
      worker: () => cluster.anyWorker(client),
      requests: plan.requestsPerClient,
      untilMs: FAULT_PHASE_MS,
    }).then(() => working--);
  }
  return () => working === 0;
}

/** Injects faults repeatedly until the fault phase ends. */
function startFaults(cluster: Cluster, random: Random, everyMs: number): void {
  const { clock } = cluster;
  const next = () =>
    clock.after(random.whole(1, everyMs * 2), () => {
      if (clock.monotonicMs() >= FAULT_PHASE_MS) return;
      cluster.disturb();
      next();
    });
  next();
}

/** Runs until the cluster is idle, and makes the decisions of operators. */
async function rest(cluster: Cluster, clientsDone: () => boolean, failed: () => boolean) {
  const { clock, auditor } = cluster;
  const { ledger } = auditor;
  const until = clock.monotonicMs() + REST_MS;
  const decided = new Set<string>();
  for (;;) {
    await clock.run(clock.monotonicMs() + 1_000, failed);
    if (failed()) break;
    decide(cluster, decided);
    const waits = clientsDone() ? unrest(auditor) : 'a client is still sending';
    if (!waits && [...undecided(ledger)].length === 0 && [...suspended(ledger)].length === 0) {
      // An idle cluster stays idle: no turn follows when all marks are written.
      const { turns } = ledger;
      await clock.run(clock.monotonicMs() + 15_000, failed);
      if (ledger.turns === turns) return oneOwnerEach(cluster);
    }
    if (clock.monotonicMs() > until)
      return ledger.fault(`not idle: ${waits ?? 'decisions of operators are open'}`);
  }
  if (auditor.faults.length === 0) ledger.fault(`not idle after ${clock.steps} steps`);
}

/** Every replaced owner has detected it by now, even without work (A7). */
function oneOwnerEach({ workers, auditor: { ledger } }: Cluster): void {
  for (const { shard } of ledger.shards) {
    const owners = workers.filter((worker) => worker.owns(shard)).length;
    if (owners !== 1) ledger.fault(`shard ${shard} has ${owners} owners in an idle cluster`);
  }
}

/** Acts as the operator: decides unknown effects and resumes suspended actors. */
function decide(cluster: Cluster, decided: Set<string>): void {
  const worker = cluster.workers.find(({ process }) => process.running);
  const { ledger } = cluster.auditor;
  if (!worker) return;
  for (const [id, { actor, attempt, state }] of undecided(ledger)) {
    if (state !== 'unknown') continue;
    const outcome = decided.has(id)
      ? ({ kind: 'done', output: 'decided' } as const)
      : ({ kind: 'again' } as const);
    decided.add(id);
    worker.entryPoint.report(actor, id, attempt, outcome).catch(() => {});
  }
  for (const actor of suspended(ledger)) {
    const type = decided.has(actor) ? 'sys.stop' : 'sys.restart';
    decided.add(actor);
    const principal = { sub: 'operator', roles: ['operator'] };
    void worker.entryPoint.tell(actor as Address, { type, uid: 'operator' }, { principal });
  }
}

/** Kills all processes; their restart must produce the state that the logs contain. */
async function comeBack(cluster: Cluster, failed: () => boolean): Promise<void> {
  const { clock, auditor } = cluster;
  const { shards } = auditor.ledger;
  compareStates(cluster);
  const { turns } = auditor.ledger;
  cluster.crashAll();
  const isUp = () => shards.every(({ shard }) => cluster.ownerOf(shard));
  await clock.run(clock.monotonicMs() + 60_000, () => failed() || isUp());
  if (!isUp()) auditor.ledger.fault('a shard has no owner after the restart');
  await clock.run(clock.monotonicMs() + 15_000, failed);
  if (auditor.ledger.turns !== turns)
    auditor.ledger.fault('a restart of an idle cluster caused new turns');
  compareStates(cluster);
}

function compareStates(cluster: Cluster): void {
  const { ledger } = cluster.auditor;
  for (const { shard } of ledger.shards) {
    const owner = cluster.ownerOf(shard);
    if (owner) ledger.faults.push(...stateFaults(ledger, shard, owner.state));
  }
}
