/**
 * Moves the view of a chart to another one in 350 ms, or at once for readers who asked for that.
 */
import type { Box } from '../../charts/drawing.ts';
import { between, textOf } from './view-box.ts';

const GLIDE_MS = 350;

export class Glide {
  #view: Box | undefined;
  #frame = 0;

  get view(): Box | undefined {
    return this.#view;
  }

  /** Ends a movement that has not arrived. */
  to(svg: SVGSVGElement, target: Box, isAtOnce: boolean): void {
    cancelAnimationFrame(this.#frame);
    const from = this.#view;
    if (!from || isAtOnce || matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.#show(svg, target);
      return;
    }
    const start = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, (now - start) / GLIDE_MS));
      this.#show(svg, between(from, target, 1 - (1 - part) ** 3));
      if (part < 1) this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
  }

  #show(svg: SVGSVGElement, view: Box): void {
    this.#view = view;
    svg.setAttribute('viewBox', textOf(view));
  }
}
