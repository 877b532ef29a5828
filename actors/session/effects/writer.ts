/** Writer: requests a text about a text from a model, and counts the usage. */
import type { Usage } from '../../../protocols/session.ts';
import { chatSpan, type EffectContext, inSpan, usageAttributes } from '../../../runtime/index.ts';
import { chosenFor } from '../../../agent/models/chosen.ts';
import { streamWithFailover } from '../../../agent/models/failover.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { CompactInput } from '../types.ts';

const IDLE_TIMEOUT_MS = 120_000;
const ANSWER_TOKENS_MAX = 4_096;

export class Writer {
  /** context window of the first model, for request and answer together */
  readonly window: number;
  readonly #context: EffectContext;
  readonly #names: readonly string[];
  readonly #maxTokens: number;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #written = 0;

  constructor({ model, settings }: CompactInput, context: EffectContext) {
    const { catalog } = servicesOf(context);
    const { names } = chosenFor(catalog, { model, settings });
    const first = catalog.resolve(names[0]);
    this.#context = context;
    this.#names = names;
    this.#maxTokens = Math.min(ANSWER_TOKENS_MAX, first.model.maxTokens);
    this.window = first.model.contextWindow;
  }

  /** The usage of all requests; with the cost when every price is known. */
  get usage(): Usage {
    return this.#usage;
  }

  /**
   * '' when the model refuses or has nothing to say. Material and request are separate messages,
   * the request last. @throws TroupeError as models do
   */
  async write(system: string, material: string, request: string): Promise<string> {
    const { catalog } = servicesOf(this.#context);
    const messages = [material, request].map((text) => ({ role: 'user' as const, text }));
    const asked = { system, messages, tools: [], maxTokens: this.#maxTokens };
    const options = {
      signal: this.#context.signal,
      idempotencyKey: `${this.#context.id}:${this.#written++}`,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
    };
    const [provider = '', ...model] = (this.#names[0] ?? '').split('/');
    return inSpan(
      () => chatSpan({ provider, model: model.join('/') }),
      async (span) => {
        for await (const event of streamWithFailover(catalog, this.#names, asked, options)) {
          if (event.kind !== 'done') continue;
          span.setAttributes(usageAttributes(event.usage));
          const { inputTokens, outputTokens } = event.usage;
          this.#count({
            inputTokens,
            outputTokens,
            ...('costUsd' in event ? { costUsd: event.costUsd } : {}),
          });
          return event.stop === 'refusal' ? '' : event.text.trim();
        }
        return '';
      },
    );
  }

  #count({ inputTokens, outputTokens, costUsd }: Usage): void {
    const before = this.#usage;
    const isFirst = before.inputTokens === 0 && before.outputTokens === 0;
    const cost = isFirst ? costUsd : sumOf(before.costUsd, costUsd);
    this.#usage = {
      inputTokens: before.inputTokens + inputTokens,
      outputTokens: before.outputTokens + outputTokens,
      ...(cost === undefined ? {} : { costUsd: cost }),
    };
  }
}

const sumOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a + b;
