/** `system.notify`: shows a system notification. */
import { type Capability, CommandError, type Doing, type Permission } from './capability.ts';

type Params = { readonly title?: string; readonly body?: string };

const states: Readonly<Record<string, Permission>> = {
  granted: 'granted',
  denied: 'denied',
  default: 'undetermined',
};

const notify = async ({ title, body }: Params, doing: Doing): Promise<object> => {
  if (!title && !body) throw new CommandError('INVALID_ARGUMENT', 'a title or a body is needed');
  if (Notification.permission === 'default') {
    await doing.ask();
    await Notification.requestPermission();
  }
  if (Notification.permission !== 'granted')
    throw new CommandError('FORBIDDEN', 'the browser does not permit notifications of this page');
  const notification = new Notification(title ?? body!, title && body ? { body } : {});
  notification.addEventListener('click', () => window.focus());
  return { shown: true };
};

export const notifications: Capability = {
  name: 'notifications',
  command: 'system.notify',
  description: 'Shows a notification to the person at the device.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      title: { type: 'string', maxLength: 200 },
      body: { type: 'string', maxLength: 2_000 },
    },
  },
  supported: () => typeof Notification === 'function',
  permission: () => Promise.resolve(states[Notification.permission] ?? 'undetermined'),
  request: async () => void (await Notification.requestPermission()),
  run: notify,
};
