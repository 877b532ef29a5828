/** The jobs and devices of OpenClaw as items. */
import type { FoundDevice, FoundJob, LeftOut } from '../../../installation/openclaw/found.ts';
import { fieldsOf, listOf, numberOf, textOf } from '../../../installation/openclaw/found.ts';
import { deviceImport, deviceList } from '../../../operations/devices.ts';
import { scheduleList, scheduleSet } from '../../../operations/schedules.ts';
import { defined } from '../../../protocols/defined.ts';
import { DEVICE_ROLES, type DeviceAsk, deviceIdOf } from '../../../protocols/device.ts';
import { SCOPES } from '../../../protocols/gateway/index.ts';
import { agentIdOfOpenClaw, importedKey } from '../../../protocols/openclaw-key.ts';
import {
  JOB_ID,
  PERIOD_MS_MAX,
  PERIOD_MS_MIN,
  type ScheduleJob,
  STAGGER_MS_MAX,
  type When,
} from '../../../protocols/schedule.ts';
import { described } from '../../../protocols/schedule-times.ts';
import { hashOf, type Item } from './items.ts';

const TEXT_MAX = 32_768;

type Items = { readonly items: readonly Item[]; readonly leftOut: readonly LeftOut[] };

/** `agentId` is for jobs without one. */
export function jobItems(jobs: readonly FoundJob[], agentId: string, mainKey: string): Items {
  const leftOut: LeftOut[] = [];
  const items = jobs.flatMap(({ id, job }): readonly Item[] => {
    const mapped = jobOf(job, agentId, mainKey);
    if (typeof mapped === 'string') {
      leftOut.push({ kind: 'schedule', id, reason: mapped });
      return [];
    }
    const jobId = JOB_ID.test(id) ? id : `openclaw-${hashOf(id).slice(0, 16)}`;
    const isOn = job['enabled'] !== false;
    const state = isOn ? 'disabled until --enable-schedules' : 'disabled in OpenClaw, too';
    const detail = `${mapped.name ?? ''}: ${described(mapped.when)}; ${state}`;
    return [
      {
        kind: 'schedule',
        id,
        target: jobId,
        hash: hashOf(mapped),
        detail,
        async write({ call, client, enableSchedules = false }) {
          const { schedules } = await call(scheduleList, {});
          const known = schedules.find((one) => one.jobId === jobId);
          if (known === undefined)
            await call(scheduleSet, {
              jobId,
              job: { ...mapped, enabled: isOn && enableSchedules },
            });
          else if (isOn && enableSchedules && known.state === 'off')
            await client.request('cron.update', { id: jobId, patch: { enabled: true } });
          return known === undefined ? 'imported' : 'exists';
        },
      },
    ];
  });
  return { items, leftOut };
}

/** A text: why the job is left out. Until a user enables it, only OpenClaw runs it. */
function jobOf(job: FoundJob['job'], defaultAgent: string, mainKey: string): ScheduleJob | string {
  const payload = fieldsOf(job['payload']);
  const text = textOf(payload['message']) ?? textOf(payload['text']);
  if (text === undefined) return `its payload is ${textOf(payload['kind']) ?? 'unknown'}`;
  if (text.startsWith('__openclaw')) return 'a job of OpenClaw itself';
  if (text.length > TEXT_MAX) return `its text has over ${TEXT_MAX} characters`;
  const when = whenOf(fieldsOf(job['schedule']));
  if (typeof when === 'string') return when;
  const agentId = agentIdOfOpenClaw(textOf(job['agentId']) ?? defaultAgent);
  const target = textOf(job['sessionTarget']) ?? 'isolated';
  const named = target.startsWith('session:') ? target.slice('session:'.length) : undefined;
  const session = target === 'main' ? `agent:${agentId}:${mainKey}` : named;
  const seconds = numberOf(payload['timeoutSeconds']);
  return {
    agentId,
    when,
    text,
    enabled: false,
    ...defined({
      name: textOf(job['name'])?.slice(0, 120),
      description: textOf(job['description'])?.slice(0, 4_096),
      sessionKey: session === undefined ? undefined : importedKey(session, agentId),
      kind: payload['kind'] === 'systemEvent' ? ('event' as const) : undefined,
      fresh: target === 'isolated' ? true : undefined,
      deleteAfterRun: job['deleteAfterRun'] === true ? true : undefined,
      timeoutMs: seconds && seconds >= 1 ? Math.min(seconds * 1_000, 172_800_000) : undefined,
    }),
  };
}

function whenOf({ kind, ...schedule }: FoundJob['job']): When | string {
  if (kind === 'every') {
    const everyMs = numberOf(schedule['everyMs']) ?? 0;
    const from = numberOf(schedule['anchorMs']);
    const isAllowed = everyMs >= PERIOD_MS_MIN && everyMs <= PERIOD_MS_MAX;
    return isAllowed ? { kind, everyMs, ...defined({ from }) } : `its period is ${everyMs} ms`;
  }
  if (kind === 'cron') {
    const expression = textOf(schedule['expr']) ?? '';
    const stagger = numberOf(schedule['staggerMs']);
    const staggerMs = stagger === undefined ? undefined : Math.min(stagger, STAGGER_MS_MAX);
    return { kind, expression, ...defined({ timeZone: textOf(schedule['tz']), staggerMs }) };
  }
  if (kind !== 'at') return `its schedule is ${textOf(kind) ?? 'unknown'}`;
  const at = numberOf(schedule['atMs']) ?? Date.parse(textOf(schedule['at']) ?? '');
  return at > Date.now() ? { kind, at } : 'its time has passed';
}

export function deviceItems(devices: readonly FoundDevice[]): Items {
  const leftOut: LeftOut[] = [];
  const items = devices.flatMap(({ id, device }): readonly Item[] => {
    const publicKey = textOf(device['publicKey']) ?? '';
    if (!/^[\w-]{43}$/.test(publicKey) || deviceIdOf(publicKey) !== id) {
      leftOut.push({
        kind: 'device',
        id,
        reason: 'its key does not match its id',
        isDamaged: true,
      });
      return [];
    }
    const listed = listOf(device['roles']).length > 0 ? listOf(device['roles']) : [device['role']];
    for (const role of listed.filter((one) => !DEVICE_ROLES.some((known) => known === one)))
      leftOut.push({ kind: 'device', id, reason: `there is no role ${String(role)} here` });
    return DEVICE_ROLES.filter((role) => listed.includes(role)).map((role) =>
      deviceItem(id, { publicKey, role, scopes: scopesOf(device, role), face: faceOf(device) }),
    );
  });
  return { items, leftOut };
}

const scopesOf = (device: FoundDevice['device'], role: string): string[] => {
  const approved = listOf(device['approvedScopes']);
  const scopes = approved.length > 0 ? approved : listOf(device['scopes']);
  return role === 'operator' ? SCOPES.filter((scope) => scopes.includes(scope)) : [];
};

const faceOf = (device: FoundDevice['device']): DeviceAsk['face'] =>
  defined({
    name: textOf(device['displayName'])?.slice(0, 120),
    clientId: textOf(device['clientId'])?.slice(0, 64),
    clientMode: textOf(device['clientMode'])?.slice(0, 32),
    platform: textOf(device['platform'])?.slice(0, 64),
    deviceFamily: textOf(device['deviceFamily'])?.slice(0, 64),
  });

function deviceItem(id: string, device: Omit<DeviceAsk, 'type' | 'approved'>): Item {
  const { role, scopes, face } = device;
  const detail = `${face.name ?? 'device'}, ${[role, ...scopes].join(' ')}; without a token`;
  return {
    kind: 'device',
    id: `${id} ${role}`,
    target: id.slice(0, 12),
    hash: hashOf([device.publicKey, role, scopes]),
    detail,
    async write({ call }) {
      const { paired } = await call(deviceList, {});
      const known = paired.find(({ deviceId }) => deviceId === id);
      if (known?.roles?.includes(role)) return 'exists';
      await call(deviceImport, device);
      return 'imported';
    },
  };
}
