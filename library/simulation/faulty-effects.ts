/** Effects of a simulated process: they run as they are, and fail as effects do in production. */
import { TroupeError } from '../../protocols/errors.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import type { EffectContext, EffectDefinition } from '../../runtime/actor/effect.ts';
import type { Fault } from './faults.ts';
import type { RunPort } from './run-parts.ts';
import type { SimProcess } from './process.ts';
import { throughBoundary } from './world.ts';

/**
 * The same definition, with effects that have the faults of the run.
 * @param services of shipped actors, in place of those of the run
 */
export function withFaults(
  definition: ActorDefinition,
  run: RunPort,
  services?: unknown,
): ActorDefinition {
  const effects: Record<string, EffectDefinition> = {};
  for (const [name, effect] of Object.entries(definition.effects))
    effects[name] = faulty(name, effect, run, services);
  return { ...definition, effects };
}

function faulty(
  name: string,
  effect: EffectDefinition,
  run: RunPort,
  services: unknown,
): EffectDefinition {
  const counts = new Map<string, number>();
  const served = (place: string | undefined, context: EffectContext) =>
    services === undefined ? servedBy(run, place, context) : { ...context, services };
  return {
    ...effect,
    run: async (input, context) => {
      if (run.isFrozen) return new Promise(() => {});
      const count = (counts.get(context.actor) ?? 0) + 1;
      counts.set(context.actor, count);
      const place = `effect ${name} of ${context.actor} #${count}`;
      return new Attempt(run, name, place, context).run(
        () => effect.run(input, served(place, context)),
        input,
      );
    },
    ...(effect.reconcile && {
      reconcile: (input, context) => effect.reconcile!(input, served(undefined, context)),
    }),
  };
}

/** The context with services whose answers pass the boundary of the process. */
function servedBy(run: RunPort, place: string | undefined, context: EffectContext): EffectContext {
  const { process } = run;
  let calls = 0;
  const services = throughBoundary(context.services, (method, arrive) => {
    const call = `${place}, answer ${++calls}`;
    const fault = place !== undefined && process.alive ? run.faults.at(call, 'kill') : undefined;
    if (fault) run.kill(fault, `when ${method} has answered ${place}`);
    process.enter(arrive);
  });
  return { ...context, services };
}

/** One attempt of an effect. */
class Attempt {
  readonly #run: RunPort;
  readonly #effect: string;
  readonly #place: string;
  readonly #context: EffectContext;
  readonly #process: SimProcess;

  constructor(run: RunPort, effect: string, place: string, context: EffectContext) {
    this.#run = run;
    this.#effect = effect;
    this.#place = place;
    this.#context = context;
    this.#process = run.process;
  }

  async run(work: () => Promise<unknown>, input: unknown): Promise<unknown> {
    const run = this.#run;
    run.running++;
    try {
      const { actor, id, attempt } = this.#context;
      run.world.effects.push({ actor, effect: this.#effect, input, id, attempt });
      const fault = run.faults.at(this.#place, 'fail', 'lose', 'slow');
      if (fault?.kind === 'fail') return this.#fails(fault, 'it did not begin');
      this.#say('begins');
      const output = await work().catch((error: unknown) => {
        this.#say(`fails: ${error instanceof Error ? error.message : String(error)}`);
        throw error;
      });
      this.#say('done');
      if (fault?.kind === 'lose') return this.#fails(fault, 'it was done, and its outcome is lost');
      if (fault) await this.#late(fault);
      return output;
    } finally {
      if (this.#process.alive) run.running--;
    }
  }

  #fails(fault: Fault, what: string): never {
    this.#run.say({ kind: 'fault', fault, what: `${this.#place} fails: ${what}` });
    throw new TroupeError('UNAVAILABLE', `simulated: ${this.#effect} failed`);
  }

  async #late(fault: Fault): Promise<void> {
    this.#run.say({ kind: 'fault', fault, what: `${this.#place} ends ${fault.ms} ms late` });
    await this.#run.clock.sleep(fault.ms);
  }

  #say(what: string): void {
    const { actor, attempt } = this.#context;
    if (this.#process.alive)
      this.#run.say({ kind: 'effect', actor, effect: this.#effect, attempt, what });
  }
}
