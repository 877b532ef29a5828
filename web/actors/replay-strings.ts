/** The texts of a replay file, in the languages of the page. */
import { language } from '../strings.ts';

const english = {
  title: 'Replay file',
  broken: (rule: string, seed: number) => `Seed ${seed} breaks the rule “${rule}”`,
  history: 'Shortest history',
  newest: 'Last turn',
  wrong: 'This file is no replay of a simulation with its turns.',
};

const vietnamese: typeof english = {
  title: 'Tệp phát lại',
  broken: (rule, seed) => `Hạt giống ${seed} vi phạm quy tắc “${rule}”`,
  history: 'Lịch sử ngắn nhất',
  newest: 'Lượt cuối',
  wrong: 'Tệp này không phải là bản phát lại có các lượt của một mô phỏng.',
};

export const replayStrings = language === 'vi' ? vietnamese : english;
