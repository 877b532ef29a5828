/**
 * All actors of the tenant, read page by page and read again at an interval while the page is
 * visible. At most ACTORS_MAX are kept.
 */
import { connectionFailure } from '../../client/gateway-errors.ts';
import type { ActorSummary } from '../../protocols/actor-view.ts';
import type { ActorsGateway } from './gateway.ts';
import { NO_RATES, type Rates, ratesOf } from './rates.ts';

export type ActorListState = {
  readonly actors: readonly ActorSummary[];
  /** every page has been read once */
  readonly isWhole: boolean;
  /** there are more than are kept */
  readonly isCut: boolean;
  readonly rates: Rates;
  readonly error?: string;
};

const PAGE = 1_000;
const ACTORS_MAX = 20_000;
/** A list of one page is read this often; longer ones less often, by their pages. */
const AGAIN_MS = 2_000;
const AGAIN_PER_PAGE_MS = 1_500;
/** Until the first answer. */
const CONNECT_MS = 500;

export const NO_ACTORS: ActorListState = {
  actors: [],
  isWhole: false,
  isCut: false,
  rates: NO_RATES,
};

export class ActorList {
  readonly #gateway: ActorsGateway;
  readonly #onChange: (state: ActorListState) => void;
  #state: ActorListState = NO_ACTORS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  constructor(gateway: ActorsGateway, onChange: (state: ActorListState) => void) {
    this.#gateway = gateway;
    this.#onChange = onChange;
    void this.#next();
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async #next(): Promise<void> {
    if (document.visibilityState === 'visible') await this.#readAll();
    if (this.#ended) return;
    const pages = Math.floor(this.#state.actors.length / PAGE);
    const againMs = this.#state.isWhole ? AGAIN_MS + pages * AGAIN_PER_PAGE_MS : CONNECT_MS;
    this.#timer = setTimeout(() => void this.#next(), againMs);
  }

  async #readAll(): Promise<void> {
    const found: ActorSummary[] = [];
    try {
      for (let after: string | undefined; ; ) {
        const params = { limit: PAGE, ...(after === undefined ? {} : { after }) };
        type Page = { readonly actors: readonly ActorSummary[] };
        const { actors } = await this.#gateway.operate<Page>('actors.list', params);
        if (this.#ended) return;
        found.push(...actors);
        const isLast = actors.length < PAGE;
        if (isLast || found.length >= ACTORS_MAX) {
          const rates = ratesOf(found, Date.now(), this.#state.rates);
          this.#set({ actors: found, isWhole: true, isCut: !isLast, rates });
          return;
        }
        if (!this.#state.isWhole) this.#set({ ...this.#state, actors: [...found] });
        after = actors.at(-1)?.actor;
      }
    } catch (error) {
      const isLost = connectionFailure(error) !== undefined;
      if (!this.#ended && !isLost) this.#set({ ...this.#state, error: (error as Error).message });
    }
  }

  #set(state: ActorListState): void {
    this.#state = state;
    this.#onChange(state);
  }
}
