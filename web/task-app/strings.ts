/** The texts of the view of a task, in the languages of the page. */
import { language } from '../charts/strings.ts';

const english = {
  waits: 'Waiting for the task of this call …',
  noCalls: 'This client passes no calls on: the state of the task is in the answer of its tool.',
  history: 'History',
  question: 'It waits for',
  cannotRead: 'The task cannot be read',
  gone: 'The actor of this task has been removed.',
};

const vietnamese: typeof english = {
  waits: 'Đang chờ tác vụ của lệnh gọi này …',
  noCalls: 'Ứng dụng này không chuyển tiếp lệnh gọi: xem trạng thái trong câu trả lời của công cụ.',
  history: 'Lịch sử',
  question: 'Đang chờ',
  cannotRead: 'Không đọc được tác vụ',
  gone: 'Actor của tác vụ này đã bị xoá.',
};

export const strings = language === 'vi' ? vietnamese : english;
