/** All texts of the node page, in its languages. */
import { language } from '../strings.ts';
import type { CapabilityName, Permission } from './capability.ts';

const english = {
  title: 'This browser as a device',
  about:
    'Agents may use what you switch on here while this page is open. An operator must approve this device and its commands.',
  back: 'To the conversations',
  name: 'Name of this device',
  save: 'Save',
  deviceId: 'Device',
  status: {
    connecting: 'Connecting…',
    online: 'Connected',
    waiting: 'No connection. Connecting again…',
    refused: 'Not connected',
  },
  refused: (why: string) => `The gateway refused: ${why}`,
  offers: 'What agents may use',
  capabilities: {
    canvas: 'Show something on this page',
    camera: 'Take a picture with the camera',
    screen: 'Record the screen, if you agree each time',
    location: 'Read the position of this device',
    notifications: 'Show a notification',
  } satisfies Record<CapabilityName, string>,
  permissions: {
    granted: 'allowed: you are not asked again',
    denied: 'denied',
    undetermined: 'will ask you',
  } satisfies Record<Permission, string>,
  notHere: 'not in this browser',
  deniedByBrowser: 'denied in the browser’s settings',
  allowNow: 'Allow now',
  mayIt: (what: string) => `An agent requests: ${what}. Allow it?`,
  allow: 'Allow',
  refuse: 'Refuse',
  canvas: 'Shown by an agent',
  log: 'Commands of this device',
  noCommands: 'Nothing yet.',
  whoIsAsked:
    'You are asked for each screen recording, and by the browser for what it has not decided yet. Everything else that is switched on runs without a question: an operator approved it for this device.',
  working: 'running',
  done: 'done',
};

const vietnamese: typeof english = {
  title: 'Dùng trình duyệt này làm thiết bị',
  about:
    'Trợ lý được dùng những gì bạn bật ở đây trong khi trang này đang mở. Người vận hành phải duyệt thiết bị này và các lệnh của nó.',
  back: 'Đến các cuộc trò chuyện',
  name: 'Tên thiết bị này',
  save: 'Lưu',
  deviceId: 'Thiết bị',
  status: {
    connecting: 'Đang kết nối…',
    online: 'Đã kết nối',
    waiting: 'Mất kết nối. Đang kết nối lại…',
    refused: 'Chưa kết nối',
  },
  refused: (why) => `Gateway từ chối: ${why}`,
  offers: 'Những gì trợ lý được dùng',
  capabilities: {
    canvas: 'Hiển thị nội dung trên trang này',
    camera: 'Chụp ảnh bằng máy ảnh',
    screen: 'Quay màn hình, nếu bạn đồng ý mỗi lần',
    location: 'Đọc vị trí của thiết bị này',
    notifications: 'Hiển thị thông báo',
  },
  permissions: {
    granted: 'được phép: không hỏi lại bạn',
    denied: 'bị từ chối',
    undetermined: 'sẽ hỏi bạn',
  },
  notHere: 'trình duyệt này không hỗ trợ',
  deniedByBrowser: 'bị từ chối trong cài đặt của trình duyệt',
  allowNow: 'Cho phép ngay',
  mayIt: (what) => `Một trợ lý yêu cầu: ${what}. Cho phép?`,
  allow: 'Cho phép',
  refuse: 'Từ chối',
  canvas: 'Nội dung do trợ lý hiển thị',
  log: 'Các lệnh của thiết bị này',
  noCommands: 'Chưa có gì.',
  whoIsAsked:
    'Bạn được hỏi mỗi lần quay màn hình, và trình duyệt hỏi những gì nó chưa quyết định. Những gì khác đã bật sẽ chạy mà không hỏi: người vận hành đã duyệt cho thiết bị này.',
  working: 'đang chạy',
  done: 'xong',
};

export const strings = language === 'vi' ? vietnamese : english;
export { language };
