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

export const calls: Strings['calls'] = {
  title: 'Các lệnh gọi của trợ lý tới chương trình bên ngoài',
  server: 'Máy chủ',
  called: 'Đã gọi',
  class: 'Nếu mất kết nối',
  classes: {
    repeatable: 'gọi lại',
    keyed: 'gọi lại với cùng khóa',
    once: 'không gọi lại',
  },
  servers: 'Máy chủ và trợ lý bên ngoài',
  place: 'Nơi',
  tool: 'Công cụ',
  tools: (count) => `${count} công cụ`,
  readsOnly: 'chỉ đọc',
  approval: 'Phê duyệt',
  approvals: {
    always: 'mỗi lần gọi',
    ask: 'trừ khi đã luôn cho phép',
    changes: 'trừ khi chỉ đọc',
    never: 'không cần',
  },
  leftOut: 'Bị bỏ qua',
  listed: 'Đọc danh sách',
  revision: 'Số lần danh sách đổi',
  about: 'Giới thiệu',
  empty: {
    title: 'Chưa có lệnh gọi nào',
    text: 'Những gì trợ lý gọi ở máy chủ MCP và trợ lý A2A hiện ở đây trong một ngày.',
    command: 'npx troupe mcp add NAME URL',
  },
};
