/** The texts of charts, in the languages of the page. */

/** Not of ../strings.ts, which loads all texts of the page: a page with charts only has none. */
export const language = globalThis.navigator?.language?.startsWith('vi') ? 'vi' : 'en';

const english = {
  view: 'View of the chart',
  depth: (levels: number) => (levels === 1 ? '1 level of states' : `${levels} levels of states`),
  follow: 'Follow',
  outline: 'Outline',
  statesOf: (type: string) => `States of ${type}`,
  chartOf: (type: string) => `Statechart of ${type}. Arrow keys move, plus and minus zoom, 0 fits.`,
  activeStates: (paths: readonly string[]) => `Active: ${paths.join(', ')}`,
};

const vietnamese: typeof english = {
  view: 'Cách xem biểu đồ',
  depth: (levels) => `${levels} cấp trạng thái`,
  follow: 'Theo dõi',
  outline: 'Dàn ý',
  statesOf: (type) => `Các trạng thái của ${type}`,
  chartOf: (type) =>
    `Biểu đồ trạng thái của ${type}. Phím mũi tên di chuyển, cộng và trừ phóng to thu nhỏ, 0 vừa khung.`,
  activeStates: (paths) => `Đang hoạt động: ${paths.join(', ')}`,
};

export const strings = language === 'vi' ? vietnamese : english;
