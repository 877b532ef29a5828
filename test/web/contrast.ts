/** The WCAG 2.2 contrast of each element with its background, as rendered by a browser. */
import type { Page } from 'playwright-core';

export const contrastsOf = (
  page: Page,
  selector: string,
): Promise<readonly { readonly text: string; readonly ratio: number }[]> =>
  page.evaluate((shown) => {
    const luminance = (color: string) => {
      const [r = 0, g = 0, b = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element: Element): string => {
      const { backgroundColor } = getComputedStyle(element);
      if (backgroundColor !== 'rgba(0, 0, 0, 0)') return backgroundColor;
      return element.parentElement ? behind(element.parentElement) : 'rgb(255, 255, 255)';
    };
    return [...document.querySelectorAll(shown)]
      .filter((element) => !element.matches(':disabled'))
      .map((element) => {
        const sides = [luminance(getComputedStyle(element).color), luminance(behind(element))];
        const ratio = (Math.max(...sides) + 0.05) / (Math.min(...sides) + 0.05);
        return { text: `${element.className} ${element.textContent}`.slice(0, 60), ratio };
      });
  }, selector);
