/** docs/faq.md: its limits are those of the code. */
import { expect, it } from 'vitest';
import { STEPS_MAX } from '../../actors/process/define.ts';
import * as action from '../../protocols/action.ts';
import * as address from '../../protocols/address.ts';
import * as approval from '../../protocols/approval.ts';
import * as channel from '../../protocols/channel.ts';
import * as content from '../../protocols/content.ts';
import * as conversation from '../../protocols/conversation.ts';
import * as device from '../../protocols/device.ts';
import * as envelope from '../../protocols/envelope.ts';
import * as frames from '../../protocols/gateway/frames.ts';
import * as jsonDepth from '../../protocols/json-depth.ts';
import * as schedule from '../../protocols/schedule.ts';
import * as keyring from '../../protocols/security/keyring.ts';
import * as task from '../../protocols/task.ts';
import { OUTCOME_BYTES_MAX } from '../../runtime/effects/runner.ts';
import { MESSAGE_BYTES_MAX } from '../../runtime/message-client.ts';
import { readPage } from './pages.ts';

const CONSTANTS: Readonly<Record<string, unknown>> = {
  ...action,
  ...address,
  ...approval,
  ...channel,
  ...content,
  ...conversation,
  ...device,
  ...envelope,
  ...frames,
  ...jsonDepth,
  ...schedule,
  ...keyring,
  ...task,
  STEPS_MAX,
  OUTCOME_BYTES_MAX,
  MESSAGE_BYTES_MAX,
};

const BYTES = { bytes: 1, KiB: 2 ** 10, MiB: 2 ** 20 };
const SECONDS = { second: 1, hours: 3_600, days: 86_400 };

/** A limit as its constant has it: bytes, the constant's unit of time, or a count. */
function limitOf(text: string, constant: string): number {
  const [amount = '', unit = ''] = text.split(' ');
  const count = Number(amount.replaceAll(',', ''));
  const seconds = (SECONDS as Record<string, number>)[unit];
  if (seconds !== undefined) return count * seconds * (constant.includes('_SEC') ? 1 : 1_000);
  return count * ((BYTES as Record<string, number>)[unit] ?? 1);
}

const rows = [...readPage('docs/faq.md').matchAll(/^\| [^|]+ \| ([^|]+) \| `([A-Z_]+)` \|$/gm)].map(
  ([, limit, constant]) => [constant!, limit!] as const,
);

it('has limits', () => expect(rows.length).toBeGreaterThan(20));

it.each(rows)('%s is %s', (constant, limit) => {
  expect(CONSTANTS[constant]).toBe(limitOf(limit, constant));
});
