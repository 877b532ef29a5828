/** The texts of the views of agents and their notes in Vietnamese. */
import type { Strings } from './english.ts';

const number = new Intl.NumberFormat('vi');

export const memory: Strings['memory'] = {
  title: 'Bộ nhớ',
  ask: 'Tìm trong ghi chú',
  search: 'Tìm',
  notes: 'Ghi chú',
  none: 'Trợ lý này chưa có ghi chú. Hãy bảo nó ghi nhớ điều gì đó, hoặc viết MEMORY.md và memory/*.md trong thư mục làm việc của nó.',
  found: 'Ghi chú tìm thấy',
  nothingFound: 'Không tìm thấy ghi chú nào.',
  state: (files, chunks) => `${files} ghi chú, ${chunks} đoạn`,
  byMeaning: (model) => `theo từ và theo nghĩa (${model})`,
  byWords: 'theo từ',
  byWordsBecause: (why) => `chỉ theo từ: ${why}`,
  bytes: (count) => `${number.format(count)} byte`,
  left: (path, why) => `Không tìm trong ${path}: ${why}`,
};

export const agents: Strings['agents'] = {
  title: 'Trợ lý',
  model: 'Mô hình',
  fallbacks: 'Dự phòng',
  workspace: 'Thư mục làm việc',
  tools: 'Công cụ',
  skills: 'Kỹ năng',
  hooks: 'Hook của mọi agent',
  noHooks: 'Chưa nạp hook nào (docs/hooks.md).',
  files: 'Các tệp của lời nhắc',
  missing: 'chưa có',
  talk: 'Cuộc trò chuyện mới',
  notUsed: 'không dùng',
  empty: {
    title: 'Không có trợ lý nào',
    text: 'Một trợ lý có mô hình, thư mục làm việc và chính sách. Cấu hình liệt kê các trợ lý.',
    command: 'npx troupe config show',
  },
};
