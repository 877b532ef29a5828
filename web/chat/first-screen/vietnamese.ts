/** The texts of the first screen in Vietnamese. */
import type { Strings } from './english.ts';

export const strings: Strings = {
  welcome: 'Ta làm gì nhỉ?',
  offline:
    'Chưa có khóa của nhà cung cấp mô hình, nên mô hình ngoại tuyến có sẵn sẽ trả lời. Nó không suy nghĩ, nhưng mọi thứ khác là thật. Hãy thử:',
  cards: [
    {
      title: 'Xem quanh',
      about: 'Các tệp trong thư mục làm việc',
      text: 'Liệt kê các tệp trong thư mục làm việc của bạn và cho tôi biết chúng để làm gì.',
    },
    {
      title: 'Đọc web',
      about: 'Tóm tắt một trang',
      text: 'Đọc https://example.org và tóm tắt trong ba câu.',
    },
    {
      title: 'Mỗi sáng',
      about: 'Một lịch chạy',
      text: 'Mỗi ngày trong tuần lúc 9:00, nhắc tôi những gì tôi ghi trong notes.md.',
    },
    {
      title: 'Cùng làm việc',
      about: 'Hai trợ lý phụ',
      text: 'Khởi động hai trợ lý phụ: một ủng hộ, một phản đối việc làm đêm. Tóm tắt cả hai.',
    },
  ],
  demonstrations: [
    { title: 'Dùng công cụ', about: 'Mô hình gọi, troupe chạy', text: 'What is 6*7?' },
    {
      title: 'Hai tệp',
      about: 'Ghi một tệp rồi đọc lại',
      text: 'call write {"path": "notes.md", "content": "hello"} then call read {"path": "notes.md"}',
    },
    {
      title: 'Hỏi tôi trước',
      about: 'Một lệnh chờ bạn duyệt',
      text: 'call exec {"command": "date"}',
    },
    {
      title: 'Tắt nó đi',
      about: 'Dừng troupe khi đang trả lời, rồi khởi động lại',
      text: 'Tell me who you are, and what I can try with you.',
    },
  ],
};
